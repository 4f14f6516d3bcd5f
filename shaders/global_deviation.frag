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

vec2 at; // of the next texel

// Whole bytes, so that the first sum is exact up to 65,793 pixels. Places depend on the sum so far, which is never
// negative (late.glsl), and on the place before: else VideoCore IV's compiler keeps every texel of the first sweep for
// the second, or every place of a row.
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
        vec4 row = vec4(0.0); // rows apart: long sums of floats lose digits
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            vec4 off = next(squares + row) - mean;
            row += off * off;
        }
        squares += row;
    }
    squares += min(texture2D(source, coord0.xy), 0.0); // 0, but a fetch in no loop: else VideoCore IV has one thread
    vec2 variance = mix(squares.xy, squares.zw, half_of_slice) * (1.0 / float(WIDTH * HEIGHT));
    gl_FragColor = encode(variance * inversesqrt(max(variance, 1e-12)) * factor);
}
