// One slice enlarged by whole factors, with linear interpolation between texel centres. All is counted in whole
// numbers: positions in 1 / (2 * SIZE) of a texel, values in bytes.
#ifndef SIZE
#define SIZE vec2(2.0, 2.0)
#define INVERSE 0.0625
#endif

varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 origin; // first texel of the tile
uniform vec2 last;   // its last texel, counted from the first

vec4 bytes(vec2 at) {
    vec2 inside = origin + clamp(at, vec2(0.0), last) + 0.5;
    return floor(texture2D(source, inside * source_texel) * 255.0 + 0.5);
}

void main() {
    vec2 pixel = floor((coord0.xy / source_texel - origin - 0.5) * SIZE + 0.5);
    vec2 position = 2.0 * pixel + 1.0 - SIZE;
    vec2 low = floor((position + 0.5) / (2.0 * SIZE));
    vec2 share = position - low * 2.0 * SIZE;
    vec2 rest = 2.0 * SIZE - share;
    vec4 top = bytes(low) * rest.x + bytes(low + vec2(1.0, 0.0)) * share.x;
    vec4 bottom = bytes(low + vec2(0.0, 1.0)) * rest.x + bytes(low + vec2(1.0, 1.0)) * share.x;
    vec4 sum = top * rest.y + bottom * share.y;
    // Half-way values are common; a quarter of the distance of two values makes all GPUs round them up.
    vec4 y = floor(sum * INVERSE + (0.5 + 0.25 * INVERSE)) * (1.0 / 255.0);
    //@ fine The same in steps of 1/256 of these.
    //@ pad_lanes
    gl_FragColor = whole(y);
}
