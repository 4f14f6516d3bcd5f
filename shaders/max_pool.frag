// One slice of maximum pooling: the largest texel of a window.
//
// BOUNDED   windows may reach beyond the map: there they read its edge once more, which changes no maximum
#ifndef POOL_WIDTH
#define POOL_WIDTH 2
#define POOL_HEIGHT 2
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#ifdef BOUNDED
uniform vec4 bounds; // centres of the first (.xy) and the last texel (.zw)
#endif

void main() {
    vec4 largest = vec4(0.0);
    for (int y = 0; y < POOL_HEIGHT; y++) {
        for (int x = 0; x < POOL_WIDTH; x++) {
            vec2 at = coord0.xy + vec2(float(x), float(y)) * source_texel;
#ifdef BOUNDED
            at = clamp(at, bounds.xy, bounds.zw);
#endif
            largest = max(largest, texture2D(source, at));
        }
    }
    vec4 y = largest;
    //@ pad_lanes
    gl_FragColor = whole(y);
}
