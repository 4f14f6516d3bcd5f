// activation(scale * sum of weight * input + bias): two rows of a dense layer, as two values of 16 bits.
//
// The weight texture has a column of texels for each output. A texel has two weights; the last texel has the scale
// (.xy) and the bias (.zw).
//
// BLOCKS, PAIRS           blocks of inputs, and texels of a block
// ROW_SCALE, BIAS_SCALE   units of scales and biases
// INVERSE_SCALE           1 / scale of the stored values
#ifndef BLOCKS
#define BLOCKS 1
#define PAIRS 8
#define FACTOR 1.0
#define ROW_SCALE 1.0
#define BIAS_SCALE 1.0
#define INVERSE_SCALE 1.0
#endif

// WAIT(at) equals at, because no coordinate is negative, and VideoCore IV fetches there only after the sum so far
// (convolution.frag).
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

void main() {
    vec2 sum = vec2(0.0);
    for (int block = 0; block < TURNS(BLOCKS); block++) {
        END_AFTER(BLOCKS, block)
        for (int i = 0; i < TURNS(PAIRS); i++) {
            END_AFTER(PAIRS, i)
            float pair = float(block) * float(PAIRS) + float(i);
            vec2 x = decode(texture2D(source, WAIT(coord0.xy + vec2(pair, 0.0) * source_texel)));
            vec2 first = decode(texture2D(kernel, WAIT(coord0.zw + vec2(0.0, pair) * kernel_texel)));
            vec2 second = decode(texture2D(kernel, coord0.zw + vec2(1.0, pair) * kernel_texel));
            sum += vec2(dot(first, x), dot(second, x));
        }
    }
    sum *= FACTOR;
    vec2 last = vec2(0.0, float(BLOCKS) * float(PAIRS));
    vec2 first = decode(texture2D(kernel, coord0.zw + last * kernel_texel));
    vec2 second = decode(texture2D(kernel, coord0.zw + (last + vec2(1.0, 0.0)) * kernel_texel));
    sum = sum * vec2(first.x, second.x) * ROW_SCALE + vec2(first.y, second.y) * BIAS_SCALE;
    sum = activation(sum.xyxy).xy;
    gl_FragColor = encode(sum * INVERSE_SCALE);
}
