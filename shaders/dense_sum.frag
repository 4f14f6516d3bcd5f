// The sum of the partial sums of two rows of a dense layer, as two values of 16 bits.
//
// The last pass of a layer also computes activation(scale * sum + bias).
//
// COUNT                   number of partial sums
// ROW_SCALE, BIAS_SCALE   defined in the last pass: units of the scale (.xy) and the bias (.zw), which are in one texel
//                         for each row
#ifndef COUNT
#define COUNT 1
#define FACTOR 1.0
#define INVERSE_SCALE 1.0
#endif

// WAIT(at) equals at, because no coordinate is negative, and VideoCore IV fetches there only after the sum so far
// (convolution.frag).
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(sum, 0.0))
#else
#define WAIT(at) at
#endif

varying vec4 coord0; // .xy the first partial sum, .zw the constants of the first of the two rows
uniform sampler2D source;
uniform vec2 source_texel;
#ifdef ROW_SCALE
uniform sampler2D kernel;
uniform vec2 kernel_texel;
#endif

void main() {
    vec2 sum = vec2(0.0);
    for (int i = 0; i < TURNS(COUNT); i++) {
        END_AFTER(COUNT, i)
        sum += decode(texture2D(source, WAIT(coord0.xy + vec2(float(i), 0.0) * source_texel)));
    }
    sum *= FACTOR;
#ifdef ROW_SCALE
    vec2 first = decode(texture2D(kernel, coord0.zw));
    vec2 second = decode(texture2D(kernel, coord0.zw + vec2(0.0, 1.0) * kernel_texel));
    sum = sum * vec2(first.x, second.x) * ROW_SCALE + vec2(first.y, second.y) * BIAS_SCALE;
    sum = activation(sum.xyxy).xy;
#endif
    gl_FragColor = encode(sum * INVERSE_SCALE);
}
