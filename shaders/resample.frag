// One slice, each of its rows or columns a weighted sum of TAPS rows or columns of the input, plus an offset.
//
// TAPS       number of terms
// AXIS_X     1: sums of columns, 0: sums of rows
// UNROLLED   each tap has a line. Compilers do not unroll some loops, and a fetch in a loop halves the number of
//            VideoCore IV's threads
//
// For each output row or column, the table has a texel for each weight, one for the offset, and one for the first input
// row or column. Red, green and blue are the bytes of a value, the highest first.
#ifndef TAPS
#define TAPS 4
#define AXIS_X 1
varying vec4 coord0; // .xy the first row or column, .zw the first texel of the output in the table
uniform sampler2D source;
uniform sampler2D table;
uniform vec2 source_texel;
uniform vec2 table_texel;
#endif

//@ declarations

uniform vec4 factor; // from units of weights times texels to the output's range
uniform vec4 centre; // makes the byte of 0 the value 0
uniform vec4 gain;   // from units of offsets to the output's range
uniform vec4 start;  // the byte of 0 in the output's range

const vec2 ALONG = vec2(float(AXIS_X), 1.0 - float(AXIS_X));

vec4 sum;
vec2 first;

vec3 bytes(float number) {
    return floor(texture2D(table, coord0.zw + number * ALONG.yx * table_texel).rgb * 255.0 + 0.5);
}

float whole24(vec3 number) {
    return 65536.0 * (number.r - 128.0) + 256.0 * number.g + number.b;
}

void add(float tap) {
    sum += whole24(bytes(tap)) * (texture2D(source, first + tap * ALONG * source_texel) + centre);
}

void main() {
    sum = vec4(0.0);
    first = coord0.xy;
    vec3 place = bytes(float(TAPS) + 1.0);
    first += (256.0 * place.r + place.g) * ALONG * source_texel;
#ifdef UNROLLED
    //@ taps  Calls add for each tap.
#else
    for (int tap = 0; tap < TAPS; tap++) {
        add(float(tap));
    }
#endif
    gl_FragColor = store(sum * factor + whole24(bytes(float(TAPS))) * gain + start);
}
