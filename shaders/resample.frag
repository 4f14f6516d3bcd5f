// One slice, each of its rows or columns a weighted sum of some of the input's, one after the other.
//
// TAPS          how many are summed
// AXIS_X        1: columns are summed, 0: rows
// WRITTEN_OUT   every tap has a line. Compilers leave some loops as they are, and a loop that fetches halves the
//               threads of a VideoCore IV.
//
// A table has for each output a texel for each weight, one for the offset, and one for the first place that is read.
// Red, green and blue are the bytes of a number, the highest first.
#ifndef TAPS
#define TAPS 4
#define AXIS_X 1
varying vec4 coord0; // .xy the first row or column, .zw the first texel of the output's numbers
uniform sampler2D source;
uniform sampler2D table;
uniform vec2 source_texel;
uniform vec2 table_texel;
#endif

//@ declarations

uniform vec4 factor; // from a unit of a weight times a texel to the range that is written
uniform vec4 centre; // what makes 0 of the byte that stands for it
uniform vec4 gain;   // from a unit of an offset to the range that is written
uniform vec4 start;  // where 0 is in that range

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
#ifdef WRITTEN_OUT
    //@ taps
#else
    for (int tap = 0; tap < TAPS; tap++) {
        add(float(tap));
    }
#endif
    gl_FragColor = store(sum * factor + whole24(bytes(float(TAPS))) * gain + start);
}
