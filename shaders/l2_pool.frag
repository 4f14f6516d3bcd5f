// One slice of L2 pooling: the root of the mean square of the texels of a window that are inside the map.
//
// BOUNDED       windows can extend beyond the map
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
uniform vec4 factor; // from the input's range to the output's
uniform vec4 centre; // makes the byte of 0 the value 0
uniform vec4 offset; // the byte of 0 in the output's range
#ifdef BOUNDED
uniform vec4 bounds; // edges of the map: left, top (.xy), right, bottom (.zw)
#endif

vec4 sum;
float count;
// Computed from the previous one, because a compiler that knows all coordinates fetches all texels at once.
vec2 coordinate;

void add_texel() {
    vec4 value = factor * texture2D(source, coordinate) + centre;
#ifdef BOUNDED
    vec2 inside = step(bounds.xy, coordinate) * step(coordinate, bounds.zw);
    value *= inside.x * inside.y;
    count += inside.x * inside.y;
#endif
    sum += value * value;
    coordinate.x += source_texel.x;
}

void next_row() {
    coordinate = vec2(coord0.x, coordinate.y + source_texel.y);
}

void main() {
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
    vec4 mean = sum * (1.0 / float(POOL_WIDTH * POOL_HEIGHT));
#endif
    // Some GPUs compute roots from reciprocal roots, which are infinite at 0. The addend is far below a step.
    gl_FragColor = store(sqrt(mean + 1e-11) + offset);
}
