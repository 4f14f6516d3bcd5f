// The mean of one slice over all its pixels, of lanes 0 and 1 or 2 and 3, as two 16-bit numbers.
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
#define INVERSE_COUNT 1.0
#define INVERSE_SCALE 1.0
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 texel;
uniform float half_of_slice;

void main() {
    vec4 sum = vec4(0.0);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            // Whole bytes are summed, so that the sum is exact up to 65,793 pixels.
            vec4 t = texture2D(source, coord0.xy + vec2(float(x), float(y)) * texel);
            sum += floor(t * 255.0 + 0.5);
        }
    }
    vec4 mean = sum * INVERSE_COUNT;
    gl_FragColor = encode(mix(mean.xy, mean.zw, half_of_slice) * INVERSE_SCALE);
}
