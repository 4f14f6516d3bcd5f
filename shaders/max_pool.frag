// One slice of maximum pooling: the largest texel of a window.
//
// BOUNDED    windows may reach beyond the map: there they read its edge once more, which changes no maximum. coord0.zw
//            and coord1.xy are the centres of its first and last texel
// SMALLEST   the smallest texel instead
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

void main() {
#ifdef SMALLEST
    vec4 y = vec4(1.0);
#else
    vec4 y = vec4(0.0);
#endif
    for (int row = 0; row < POOL_HEIGHT; row++) {
        for (int column = 0; column < POOL_WIDTH; column++) {
            vec2 at = coord0.xy + vec2(float(column), float(row)) * source_texel;
#ifdef BOUNDED
            at = clamp(at, coord0.zw, coord1.xy);
#endif
#ifdef SMALLEST
            y = min(y, texture2D(source, at));
#else
            y = max(y, texture2D(source, at));
#endif
        }
    }
    //@ pad_lanes
    gl_FragColor = whole(y);
}
