// One slice, converted to the output's range and surrounded by a constant:
// y = factor * source + offset inside the map, otherwise `outside`.
varying vec4 coord0;
uniform sampler2D source;
uniform vec4 edges;   // edges of the map: left, top (.xy), right, bottom (.zw)
uniform vec4 factor;  // from the input's range to the output's
#ifdef CUT_SUMS
uniform vec4 cut_offset;
#define OFFSET cut_offset
#else
uniform vec4 offset;
#define OFFSET offset
#endif
uniform vec4 outside; // the constant, in the output's range

void main() {
    vec2 inside = step(edges.xy, coord0.xy) * step(coord0.xy, edges.zw);
    float here = inside.x * inside.y;
    vec4 y = factor * texture2D(source, coord0.xy) + OFFSET;
    gl_FragColor = store(y * here + outside * (1.0 - here));
}
