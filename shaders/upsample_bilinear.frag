// One slice enlarged by whole factors, with linear interpolation between texel centres. coord0.zw and coord1.xy are the
// centres of the tile's first and last texel.
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
    // In the texel above and to the left, a quarter of a step of 1 / SIZE beyond where the pixel's centre is from its
    // centre: never on an edge between two texels.
    vec2 low = coord0.xy + (0.75 / SIZE - 1.0) * source_texel;
    vec2 high = min(low + source_texel, coord1.xy);
    // Whole numbers: what the texels further on count, of 2 * SIZE.
    vec2 share = floor(fract(low * source_size) * (2.0 * SIZE));
    vec2 rest = 2.0 * SIZE - share;
    low = max(low, coord0.zw);
    vec4 sum = texture2D(source, low) * (rest.x * rest.y);
    sum += texture2D(source, vec2(high.x, low.y)) * (share.x * rest.y);
    sum += texture2D(source, vec2(low.x, high.y)) * (rest.x * share.y);
    sum += texture2D(source, high) * (share.x * share.y);
    // Half-way values are common; half of the distance of two values makes all GPUs round them up.
    vec4 y = sum * INVERSE + 0.5 * INVERSE / 255.0;
    //@ fine The same in steps of 1/256 of these.
    //@ pad_lanes
    gl_FragColor = store(y);
}
