// One slice of average pooling: the mean of the texels of a window that are inside the map.
//
// BOUNDED       windows can extend beyond the map. coord0.zw and coord1.xy are the centres of its first and last texel
// WRITTEN_OUT   each texel of the window has a line. Compilers do not unroll some loops, and VideoCore IV has half as
//               many threads if its last fetch is in a loop
// AGAIN         a last fetch outside of the loop keeps both threads
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
vec2 at; // computed from the previous one, because a compiler that knows all coordinates fetches all texels at once

void next() {
    vec4 bytes = floor(texture2D(source, at) * 255.0 + 0.5);
#ifdef BOUNDED
    vec2 inside = step(coord0.zw - 0.5 * source_texel, at) * step(at, coord1.xy + 0.5 * source_texel);
    bytes *= inside.x * inside.y;
    count += inside.x * inside.y;
#endif
    sum += bytes;
    at.x += source_texel.x;
}

void row() {
    at = vec2(coord0.x, at.y + source_texel.y);
}

void main() {
    const float area = float(POOL_WIDTH * POOL_HEIGHT);
    sum = vec4(0.0);
    count = 0.0;
    at = coord0.xy;
#ifdef WRITTEN_OUT
    //@ texels
#else
    for (int y = 0; y < POOL_HEIGHT; y++) {
        for (int x = 0; x < POOL_WIDTH; x++) {
            next();
        }
        row();
    }
#endif
#ifdef AGAIN
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
    //@ fine The same for steps of 1/256.
    //@ pad_lanes
    gl_FragColor = whole(y);
}
