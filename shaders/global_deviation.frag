// The standard deviation of one slice over all its pixels, of lanes 0 and 1 or 2 and 3, as two 16-bit numbers.
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#endif

//@ declarations

uniform float half_of_slice;
uniform vec2 factor; // from a byte to units of the stored numbers

// Whole bytes, so that the first sum is exact up to 65,793 pixels. Fetches depend on the sum so far, which is never
// negative (late.glsl): else VideoCore IV's compiler keeps every texel of the first sweep for the second.
vec4 bytes(int x, int y, vec4 sum) {
    vec2 at = coord0.xy + vec2(float(x), float(y)) * source_texel;
    return floor(texture2D(source, LATE(at, sum)) * 255.0 + 0.5);
}

void main() {
    vec4 mean = vec4(0.0);
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            mean += bytes(x, y, mean);
        }
    }
    mean *= 1.0 / float(WIDTH * HEIGHT);
    vec4 squares = vec4(0.0);
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        vec4 row = vec4(0.0); // rows apart: long sums of floats lose digits
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            vec4 off = bytes(x, y, squares + row) - mean;
            row += off * off;
        }
        squares += row;
    }
    //@ behind
    vec2 variance = mix(squares.xy, squares.zw, half_of_slice) * (1.0 / float(WIDTH * HEIGHT));
    gl_FragColor = encode(variance * inversesqrt(max(variance, 1e-12)) * factor);
}
