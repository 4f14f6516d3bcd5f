// One slice of maximum pooling: the largest texel of a window.
//
// BOUNDED       windows can extend beyond the map. There they read its edge again, which does not change the maximum.
//               coord0.zw and coord1.xy are the centres of its first and last texel
// SMALLEST      the smallest texel instead
// EXTRA_FETCH   one more fetch, after a single loop, which compilers do not unroll. VideoCore IV has enough registers
//               for it, and runs two threads only if its last fetch is outside loops
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

vec4 y;

void take(vec2 place) {
#ifdef BOUNDED
    place = clamp(place, coord0.zw, coord1.xy);
#endif
#ifdef SMALLEST
    y = min(y, texture2D(source, place));
#else
    y = max(y, texture2D(source, place));
#endif
}

void main() {
#ifdef SMALLEST
    y = vec4(1.0);
#else
    y = vec4(0.0);
#endif
    vec2 at = coord0.xy; // computed from the previous one: a compiler that knows all of them fetches all texels at once
#ifdef EXTRA_FETCH
    float right = at.x + (float(POOL_WIDTH) - 0.5) * source_texel.x;
    for (int texel = 0; texel < POOL_WIDTH * POOL_HEIGHT; texel++) {
        take(at);
        at.x += source_texel.x;
        at = mix(at, vec2(coord0.x, at.y + source_texel.y), step(right, at.x));
    }
    take(coord0.xy);
#else
    for (int row = 0; row < POOL_HEIGHT; row++) {
        for (int column = 0; column < POOL_WIDTH; column++) {
            take(at);
            at.x += source_texel.x;
        }
        at = vec2(coord0.x, at.y + source_texel.y);
    }
#endif
    //@ pad_lanes
    gl_FragColor = whole(y);
}
