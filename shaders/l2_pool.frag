// One slice of L2 pooling: the root of the mean square of the texels of a window that are inside the map.
//
// BOUNDED       windows can extend beyond the map
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
uniform vec4 factor; // from the input's range to the output's
uniform vec4 centre; // makes the byte of 0 the value 0
uniform vec4 offset; // the byte of 0 in the output's range
#ifdef BOUNDED
uniform vec4 bounds; // edges of the map: left, top (.xy), right, bottom (.zw)
#endif

vec4 sum;
float count;
vec2 at; // computed from the previous one, because a compiler that knows all coordinates fetches all texels at once

void next() {
    vec4 value = factor * texture2D(source, at) + centre;
#ifdef BOUNDED
    vec2 inside = step(bounds.xy, at) * step(at, bounds.zw);
    value *= inside.x * inside.y;
    count += inside.x * inside.y;
#endif
    sum += value * value;
    at.x += source_texel.x;
}

void row() {
    at = vec2(coord0.x, at.y + source_texel.y);
}

void main() {
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
    vec4 mean = sum * (1.0 / float(POOL_WIDTH * POOL_HEIGHT));
#endif
    // Some GPUs compute roots from reciprocal roots, which are infinite at 0. The addend is far below a step.
    gl_FragColor = store(sqrt(mean + 1e-11) + offset);
}
