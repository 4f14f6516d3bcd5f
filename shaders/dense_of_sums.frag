// Two rows of the second of two dense layers, as two values of 16 bits. The first layer is computed from its partial
// sums: they are added up, scaled, biased and activated.
//
// The weight texture has a column of texels for each output. A texel has two weights; the last texel has the row's
// scale (.xy) and bias (.zw). Two columns follow: the scales and biases of the first layer's outputs.
//
// PAIRS, STRIPS               pairs of hidden values, and strips of the partial sums of a pair
// OFFSET                      sum of the offsets of all partial sums of a value
// HIDDEN_SCALE, HIDDEN_BIAS   units of the first layer's scales and biases
// ROW_SCALE, BIAS_SCALE       units of the second layer's scales and biases
// INVERSE_SCALE               1 / scale of the stored values
#ifndef STRIPS
#define STRIPS 1
#define PAIRS 1
#define OFFSET 128.0
#define HIDDEN_SCALE 1.0
#define HIDDEN_BIAS 1.0
#define ROW_SCALE 1.0
#define BIAS_SCALE 1.0
#define INVERSE_SCALE 1.0
vec4 hidden_activation(vec4 x) { return x; }
#endif

varying vec4 coord0; // .xy the first partial sums, .zw the weights of the first of the two rows
varying vec4 coord1; // .xy the scales and biases of the first layer
uniform sampler2D source;
uniform sampler2D kernel;
uniform vec2 source_texel;
uniform vec2 kernel_texel;

void main() {
    vec2 sum = vec2(0.0);
    for (int pair = 0; pair < TURNS(PAIRS); pair++) {
        END_AFTER(PAIRS, pair)
        float row = float(pair);
        vec2 at = coord0.xy + vec2(0.0, row) * source_texel;
        vec4 bytes = vec4(0.0);
        for (int strip = 0; strip < TURNS(STRIPS); strip++) {
            END_AFTER(STRIPS, strip)
            //@ fetch  Adds a strip of partial sums to `bytes`.
        }
        //@ next  Adds the remainder of the row to `bytes`.
        vec2 hidden = bytes.xz - OFFSET + bytes.yw * (1.0 / 256.0);
        vec2 even = decode(texture2D(kernel, coord1.xy + vec2(0.0, row) * kernel_texel));
        vec2 odd = decode(texture2D(kernel, coord1.xy + vec2(1.0, row) * kernel_texel));
        hidden = hidden * vec2(even.x, odd.x) * HIDDEN_SCALE + vec2(even.y, odd.y) * HIDDEN_BIAS;
        hidden = hidden_activation(hidden.xyxy).xy;
        vec2 first = decode(texture2D(kernel, coord0.zw + vec2(0.0, row) * kernel_texel));
        vec2 second = decode(texture2D(kernel, coord0.zw + vec2(1.0, row) * kernel_texel));
        sum += vec2(dot(first, hidden), dot(second, hidden));
    }
    vec2 first = decode(texture2D(kernel, coord0.zw + vec2(0.0, float(PAIRS)) * kernel_texel));
    vec2 second = decode(texture2D(kernel, coord0.zw + vec2(1.0, float(PAIRS)) * kernel_texel));
    sum = sum * vec2(first.x, second.x) * ROW_SCALE + vec2(first.y, second.y) * BIAS_SCALE;
    sum = activation(sum.xyxy).xy;
    gl_FragColor = encode(sum * INVERSE_SCALE);
}
