// One slice, continued beyond the map's edges by its mirror image or by its edge.
//
// coord0.zw and coord1.xy are the centres of the tile's first and last texel.
//
// REPEATED   the mirror image includes the edge
// HELD       the edge is repeated instead of the mirror image
varying vec4 coord0;
varying vec4 coord1;
uniform sampler2D source;
uniform vec2 source_texel;

void main() {
    vec4 edges = vec4(coord0.zw, coord1.xy);
#ifdef REPEATED
    edges += vec4(-0.5 * source_texel, 0.5 * source_texel);
#endif
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
