// The standard deviation of one slice over all pixels, as two values of 16 bits: lanes 0 and 1, or lanes 2 and 3.
//
// The first sweep computes the mean, the second one the mean square of the differences.
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#endif

//@ declarations

uniform float half_of_slice;
uniform vec2 factor; // from bytes to units of the stored values

vec2 at; // coordinate of the next texel

// Return the next texel as integers, so that the first sum is exact up to 65,793 pixels. Its coordinate depends on the
// sum so far, which is never negative (late.glsl), and on the previous coordinate. Otherwise VideoCore IV's compiler
// keeps all texels of the first sweep for the second, or all coordinates of a row.
vec4 next(vec4 sum) {
    at = LATE(at, sum);
    vec4 bytes = floor(texture2D(source, at) * 255.0 + 0.5);
    at.x += source_texel.x;
    return bytes;
}

void main() {
    vec4 mean = vec4(0.0);
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        at = coord0.xy + vec2(0.0, float(y)) * source_texel;
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            mean += next(mean);
        }
    }
    mean *= 1.0 / float(WIDTH * HEIGHT);
    vec4 squares = vec4(0.0);
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        at = coord0.xy + vec2(0.0, float(y)) * source_texel;
        vec4 row = vec4(0.0); // a sum for each row, because long sums of floats lose digits
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            vec4 off = next(squares + row) - mean;
            row += off * off;
        }
        squares += row;
    }
    // Adds 0. VideoCore IV has one thread if its last fetch is in a loop.
    squares += min(texture2D(source, coord0.xy), 0.0);
    vec2 variance = mix(squares.xy, squares.zw, half_of_slice) * (1.0 / float(WIDTH * HEIGHT));
    gl_FragColor = encode(variance * inversesqrt(max(variance, 1e-12)) * factor);
}
