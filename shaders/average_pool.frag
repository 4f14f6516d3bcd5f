// One slice of average pooling: the mean of those texels of a window that lie within the map.
//
// BOUNDED   windows may reach beyond the map
#ifndef POOL_WIDTH
#define POOL_WIDTH 2
#define POOL_HEIGHT 2
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
#ifdef BOUNDED
uniform vec4 bounds; // the map's edges: left, top (.xy), right, bottom (.zw)
#endif

void main() {
    const float area = float(POOL_WIDTH * POOL_HEIGHT);
    vec4 sum = vec4(0.0);
    float count = 0.0;
    for (int y = 0; y < POOL_HEIGHT; y++) {
        for (int x = 0; x < POOL_WIDTH; x++) {
            vec2 at = coord0.xy + vec2(float(x), float(y)) * source_texel;
            vec4 bytes = floor(texture2D(source, at) * 255.0 + 0.5);
#ifdef BOUNDED
            vec2 inside = step(bounds.xy, at) * step(at, bounds.zw);
            bytes *= inside.x * inside.y;
            count += inside.x * inside.y;
#endif
            sum += bytes;
        }
    }
#ifdef BOUNDED
    vec4 mean = sum / count;
#else
    vec4 mean = sum * (1.0 / area);
#endif
    // Means of bytes are often half way between two; the quarter of their distance makes all GPUs round those up.
    vec4 y = floor(mean + (0.5 + 0.25 / area)) * (1.0 / 255.0);
    //@ pad_lanes
    gl_FragColor = whole(y);
}
