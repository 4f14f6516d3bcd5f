// One slice at another size, by nearest neighbour or linear interpolation.
//
// Output pixel p is at (step * p + start) / parts in the input. All of these are integers, so that all GPUs select the
// same input pixels. coord0.zw is the centre of the tile's first texel.
//
// NEAREST   read the pixel at that position. Otherwise, interpolate between the four around it
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 last;    // last texel of the tile, counted from its first
uniform vec2 count;   // output pixels for each input pixel
uniform vec2 step;
uniform vec2 start;
uniform vec2 parts;
uniform vec2 inverse; // 1 / parts

vec2 origin; // first texel of the tile

vec4 texel(vec2 at) {
    return texture2D(source, (origin + clamp(at, vec2(0.0), last) + 0.5) * source_texel);
}

void main() {
    origin = floor(coord0.zw / source_texel);
    vec2 pixel = floor((coord0.xy / source_texel - origin - 0.5) * count + 0.5);
    vec2 position = step * pixel + start;
    vec2 low = floor((position + 0.25) * inverse); // plus a quarter of a part, so that rounding errors do not matter
#ifdef NEAREST
    vec4 y = texel(low);
#else
    vec2 share = (position - low * parts) * inverse;
    vec4 top = mix(texel(low), texel(low + vec2(1.0, 0.0)), share.x);
    vec4 bottom = mix(texel(low + vec2(0.0, 1.0)), texel(low + vec2(1.0, 1.0)), share.x);
    vec4 y = mix(top, bottom, share.y);
    // Values half way between two steps are common. The small addend makes all GPUs round them up.
    y = floor(y * 255.0 + 0.50002) * (1.0 / 255.0);
    //@ fine  16-bit maps: y in steps of 1/256 instead.
#endif
    //@ pad_lanes
    gl_FragColor = whole(y);
}
