// Partial sums of two rows of a dense layer, sum of weight * input over one block of inputs, as two values of 16 bits.
//
// The weight texture has a row of texels for each output. A texel has two weights.
//
// PAIRS           texels of a block
// INVERSE_SCALE   1 / scale of the stored values
#ifndef PAIRS
#define PAIRS 8
#define INVERSE_SCALE 1.0
#endif

// WAIT(at) equals at, because no coordinate is negative, and VideoCore IV fetches there only after the sum so far
// (convolution.frag).
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(sum, 0.0))
#else
#define WAIT(at) at
#endif

varying vec4 coord0; // .xy the block's first inputs, .zw their weights for the first of the two rows
uniform sampler2D source;
uniform sampler2D kernel;
uniform vec2 source_texel;
uniform vec2 kernel_texel;

void main() {
    vec2 sum = vec2(0.0);
    for (int i = 0; i < TURNS(PAIRS); i++) {
        END_AFTER(PAIRS, i)
        vec2 x = decode(texture2D(source, WAIT(coord0.xy + vec2(float(i), 0.0) * source_texel)));
        vec2 first = decode(texture2D(kernel, WAIT(coord0.zw + vec2(float(i), 0.0) * kernel_texel)));
        vec2 second = decode(texture2D(kernel, coord0.zw + vec2(float(i), 1.0) * kernel_texel));
        sum += vec2(dot(first, x), dot(second, x));
    }
    gl_FragColor = encode(sum * INVERSE_SCALE);
}
