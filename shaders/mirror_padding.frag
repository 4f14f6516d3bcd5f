// One slice with its mirror image, or its edge, around it.
//
// HELD   beyond the edges the map goes on with its edge; else it is mirrored there
varying vec4 coord0;
uniform sampler2D source;
uniform vec4 edges; // left, top (.xy), right, bottom (.zw)

void main() {
#ifdef HELD
    vec2 at = clamp(coord0.xy, edges.xy, edges.zw);
#else
    vec2 at = edges.xy + abs(coord0.xy - edges.xy);
    at = edges.zw - abs(edges.zw - at);
#endif
    vec4 y = texture2D(source, at);
    //@ pad_lanes
    gl_FragColor = whole(y);
}
