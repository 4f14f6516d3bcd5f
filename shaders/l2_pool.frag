// One slice of L2 pooling: the root of the mean square of those texels of a window that lie within the map.
//
// BOUNDED       windows may reach beyond the map
// WRITTEN_OUT   every texel of the window has a line. Compilers leave some loops as they are, and a loop that fetches
//               halves the threads of a VideoCore IV...
// AGAIN         ...unless a fetch in no loop comes last
#ifndef POOL_WIDTH
#define POOL_WIDTH 2
#define POOL_HEIGHT 2
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec4 factor; // from the range that is read to the one that is written
uniform vec4 centre; // what makes 0 of the byte that stands for it
uniform vec4 offset; // where 0 is in the range that is written
#ifdef BOUNDED
uniform vec4 bounds; // the map's edges: left, top (.xy), right, bottom (.zw)
#endif

vec4 sum;
float count;
vec2 at; // made from the texel before: a compiler that knew all coordinates would fetch all texels at once

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
    sum += min(texture2D(source, coord0.xy), 0.0); // 0
#endif
#ifdef BOUNDED
    vec4 mean = sum / count;
#else
    vec4 mean = sum * (1.0 / float(POOL_WIDTH * POOL_HEIGHT));
#endif
    // Roots are made of reciprocal ones on some GPUs, and 0 has none. What is added is far below a step.
    gl_FragColor = store(sqrt(mean + 1e-11) + offset);
}
