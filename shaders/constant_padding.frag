// One slice in another range, with a number around it.
varying vec4 coord0;
uniform sampler2D source;
uniform vec4 edges;   // of the map: left, top (.xy), right, bottom (.zw)
uniform vec4 factor;  // from the range that is read to the one that is written
#ifdef CUT_SUMS
uniform vec4 cut_offset;
#define OFFSET cut_offset
#else
uniform vec4 offset;
#define OFFSET offset
#endif
uniform vec4 outside; // the number, in the range that is written

void main() {
    vec2 inside = step(edges.xy, coord0.xy) * step(coord0.xy, edges.zw);
    float here = inside.x * inside.y;
    vec4 y = factor * texture2D(source, coord0.xy) + OFFSET;
    gl_FragColor = store(y * here + outside * (1.0 - here));
}
