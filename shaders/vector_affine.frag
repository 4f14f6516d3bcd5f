// activation(factor * x + offset) for each value of a vector, two values in a texel.
//
// Each pair of values has a column of three texels: the bytes of their factors (red and green) and offsets (blue and
// alpha), the highest first.
#ifndef INVERSE_SCALE
#define INVERSE_SCALE 1.0
#define FACTOR_UNIT 1.0
#define OFFSET_UNIT 1.0
#define ROWS 3
#endif
varying vec4 coord0; // .xy the texel of the vector, .zw the first texel of its factors and offsets
uniform sampler2D source;
uniform sampler2D kernel;

vec4 row(float number) {
    return floor(texture2D(kernel, vec2(coord0.z, (number + 0.5) / float(ROWS))) * 255.0 + 0.5);
}

void main() {
    vec4 numbers = 65536.0 * (row(0.0) - 128.0) + 256.0 * row(1.0) + row(2.0);
    vec2 y = decode(texture2D(source, coord0.xy)) * (numbers.xy * FACTOR_UNIT) + numbers.zw * OFFSET_UNIT;
    y = activation(y.xyxy).xy;
    gl_FragColor = encode(y * INVERSE_SCALE);
}
