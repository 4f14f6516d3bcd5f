// One slice enlarged by the integer factors SIZE, with linear interpolation between texel centres.
//
// coord0.zw and coord1.xy are the centres of the tile's first and last texel. INVERSE is 1 / (4 * SIZE.x * SIZE.y).
#ifndef SIZE
#define SIZE vec2(2.0, 2.0)
#define INVERSE 0.0625
#endif

varying vec4 coord0;
varying vec4 coord1;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 source_size; // of the texture, in texels

void main() {
    // A point in the texel above and to the left of the output pixel's centre. It is a quarter of a step of 1 / SIZE
    // farther than that centre, so that it is never on an edge between two texels.
    vec2 low = coord0.xy + (0.75 / SIZE - 1.0) * source_texel;
    vec2 high = min(low + source_texel, coord1.xy);
    // The weights of the next texels, integers of 2 * SIZE.
    vec2 share = floor(fract(low * source_size) * (2.0 * SIZE));
    vec2 rest = 2.0 * SIZE - share;
    low = max(low, coord0.zw);
    vec4 sum = texture2D(source, low) * (rest.x * rest.y);
    sum += texture2D(source, vec2(high.x, low.y)) * (share.x * rest.y);
    sum += texture2D(source, vec2(low.x, high.y)) * (rest.x * share.y);
    sum += texture2D(source, high) * (share.x * share.y);
    // Values half way between two steps are common. Half of the smallest difference makes all GPUs round them up.
    vec4 y = sum * INVERSE + 0.5 * INVERSE / 255.0;
    //@ fine  16-bit maps: y in steps of 1/256 instead.
    //@ pad_lanes
    gl_FragColor = store(y);
}
