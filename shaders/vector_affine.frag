// A vector, each number with its own factor and offset, then the activation: two numbers to a texel.
// Factors and offsets lie in a column of texels for each two numbers: three bytes each, the highest first. Red and
// green hold the factors, blue and alpha the offsets.
#ifndef INVERSE_SCALE
#define INVERSE_SCALE 1.0
#define FACTOR_UNIT 1.0
#define OFFSET_UNIT 1.0
#define ROWS 3
#endif
varying vec4 coord0; // .xy the vector, .zw the first row of its numbers
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
