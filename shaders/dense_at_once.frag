// Two rows of a dense layer: sums of weight times input, scaled, biased and activated, as two 16-bit numbers.
// The weight texture has a column of texels for each output, two weights a texel; in its last row are the row's scale
// (.xy) and its bias (.zw).
#ifndef BLOCKS
#define BLOCKS 1
#define PAIRS 8
#endif

// A device may want fetches to depend on the sum so far (convolution.frag); no coordinate is negative.
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(sum, 0.0))
#else
#define WAIT(at) at
#endif

varying vec4 coord0; // .xy the first inputs, .zw their weights for the first of the two rows
uniform sampler2D source;
uniform sampler2D kernel;
uniform vec2 source_texel;
uniform vec2 kernel_texel;
uniform vec4 units; // of inputs, row scales and biases; 1 / that of outputs

void main() {
    vec2 sum = vec2(0.0);
    vec2 place = coord0.xy;
    vec2 weight = coord0.zw;
    for (int block = 0; block < TURNS(BLOCKS); block++) {
        END_AFTER(BLOCKS, block)
        for (int i = 0; i < TURNS(PAIRS); i++) {
            END_AFTER(PAIRS, i)
            vec2 x = decode_factor(texture2D(source, WAIT(place)));
            vec2 first = decode_factor(texture2D(kernel, WAIT(weight)));
            vec2 second = decode_factor(texture2D(kernel, vec2(weight.x + kernel_texel.x, weight.y)));
            sum += vec2(dot(first, x), dot(second, x));
            place.x += source_texel.x;
            weight.y += kernel_texel.y;
        }
    }
    sum *= units.x;
    vec2 first = decode_factor(texture2D(kernel, weight));
    vec2 second = decode_factor(texture2D(kernel, vec2(weight.x + kernel_texel.x, weight.y)));
    sum = sum * vec2(first.x, second.x) * units.y + vec2(first.y, second.y) * units.z;
    sum = activation(sum.xyxy).xy;
    gl_FragColor = encode(sum * units.w);
}
