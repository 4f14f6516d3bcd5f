// One slice of average pooling: the mean of the texels of a window that are inside the map.
//
// BOUNDED       windows can extend beyond the map. coord0.zw and coord1.xy are the centres of its first and last texel
// UNROLLED      each texel of the window has a line, because compilers do not unroll some loops. VideoCore IV runs two
//               threads only if its last fetch is outside loops
// EXTRA_FETCH   one more fetch, after the loops, for two threads
#ifndef POOL_WIDTH
#define POOL_WIDTH 2
#define POOL_HEIGHT 2
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#ifdef BOUNDED
varying vec4 coord1;
#endif

vec4 sum;
float count;
// Computed from the previous one, because a compiler that knows all coordinates fetches all texels at once.
vec2 coordinate;

void add_texel() {
    vec4 bytes = floor(texture2D(source, coordinate) * 255.0 + 0.5);
#ifdef BOUNDED
    vec2 inside = step(coord0.zw - 0.5 * source_texel, coordinate) * step(coordinate, coord1.xy + 0.5 * source_texel);
    bytes *= inside.x * inside.y;
    count += inside.x * inside.y;
#endif
    sum += bytes;
    coordinate.x += source_texel.x;
}

void next_row() {
    coordinate = vec2(coord0.x, coordinate.y + source_texel.y);
}

void main() {
    const float area = float(POOL_WIDTH * POOL_HEIGHT);
    sum = vec4(0.0);
    count = 0.0;
    coordinate = coord0.xy;
#ifdef UNROLLED
    //@ texels  Calls add_texel and next_row for all texels of the window.
#else
    for (int y = 0; y < POOL_HEIGHT; y++) {
        for (int x = 0; x < POOL_WIDTH; x++) {
            add_texel();
        }
        next_row();
    }
#endif
#ifdef EXTRA_FETCH
    sum += min(texture2D(source, coord0.xy), 0.0); // adds 0
#endif
#ifdef BOUNDED
    vec4 mean = sum / count;
#else
    vec4 mean = sum * (1.0 / area);
#endif
    // Means of bytes are often half way between two steps. A quarter of the smallest difference makes all GPUs round
    // them up.
    vec4 y = floor(mean + (0.5 + 0.25 / area)) * (1.0 / 255.0);
    //@ fine  16-bit maps: y in steps of 1/256 instead.
    //@ pad_lanes
    gl_FragColor = whole(y);
}
