// The mean of one slice over all pixels, as two values of 16 bits: lanes 0 and 1, or lanes 2 and 3.
//
// WIDTH, HEIGHT   iterations of the loops over the map: its columns or strips, and its rows
// CONSTANTS       each channel has its own range: factor, offset and half of the slice are in a column of CONSTANTS
//                 texels of a texture. Red and green have two factors, blue and alpha two offsets, in 24 bits
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#endif

//@ declarations

#ifdef CONSTANTS
uniform vec2 units; // units of factors and of offsets
#else
uniform float half_of_slice;
uniform vec2 factor; // from the sum of bytes to units of the stored values
uniform vec2 offset;
#endif

#ifdef CONSTANTS
vec4 row(float number) {
    return floor(texture2D(constants, vec2(coord0.z, (number + 0.5) / float(CONSTANTS))) * 255.0 + 0.5);
}
#endif

void main() {
    vec4 sum = vec4(0.0);
    //@ place  In strips: the coordinate of the next texel.
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            // The sum of integers is exact up to 65,793 pixels.
            //@ fetch  Declares t: a texel, or the sum of a strip of texels.
            sum += floor(t * 255.0 + 0.5);
        }
        //@ next  In strips: adds the remainder of the row and moves to the next row.
    }
    //@ all  Adds a last fetch outside the loops; joins both bytes of 16-bit maps.
#ifdef CONSTANTS
    vec4 numbers = 65536.0 * (row(0.0) - 128.0) + 256.0 * row(1.0) + row(2.0);
    vec2 factor = numbers.xy * units.x;
    vec2 offset = numbers.zw * units.y;
    float half_of_slice = row(3.0).x * (1.0 / 255.0);
#endif
    gl_FragColor = encode(mix(sum.xy, sum.zw, half_of_slice) * factor + offset);
}
