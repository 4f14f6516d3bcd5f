// The mean of one slice over all its pixels, of lanes 0 and 1 or 2 and 3, as two 16-bit numbers.
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform float half_of_slice;
uniform vec2 factor; // from the sum of bytes to units of the stored numbers
uniform vec2 offset;

void main() {
    vec4 sum = vec4(0.0);
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            // Whole bytes are summed, so that the sum is exact up to 65,793 pixels.
            vec4 t = texture2D(source, coord0.xy + vec2(float(x), float(y)) * source_texel);
            sum += floor(t * 255.0 + 0.5);
        }
    }
    gl_FragColor = encode(mix(sum.xy, sum.zw, half_of_slice) * factor + offset);
}
