// One slice with its mirror image, or its edge, around it.
//
// coord0.zw and coord1.xy are the centres of the tile's first and last texel.
//
// REPEATED  the edge is repeated: mirrors lie on the map's border
// HELD      beyond the edges the map goes on with its edge; else it is mirrored there
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
