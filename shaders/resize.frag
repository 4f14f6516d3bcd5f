// One slice at another size. Output pixel p lies at (step * p + start) / parts of the input, all of them whole numbers,
// so that every GPU finds the same pixels. coord0.zw is the centre of the tile's first texel.
//
// NEAREST   take the pixel there; else interpolate between the four around it
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 last;    // its last texel, counted from the first
uniform vec2 count;   // output pixels for each of the input's
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
    vec2 low = floor((position + 0.25) * inverse); // a quarter of a part: rounding never takes it to the part before
#ifdef NEAREST
    vec4 y = texel(low);
#else
    vec2 share = (position - low * parts) * inverse;
    vec4 top = mix(texel(low), texel(low + vec2(1.0, 0.0)), share.x);
    vec4 bottom = mix(texel(low + vec2(0.0, 1.0)), texel(low + vec2(1.0, 1.0)), share.x);
    vec4 y = mix(top, bottom, share.y);
    // Half-way values are common; a little more than they are makes all GPUs round them up.
    y = floor(y * 255.0 + 0.50002) * (1.0 / 255.0);
    //@ fine The same in steps of 1/256 of these.
#endif
    //@ pad_lanes
    gl_FragColor = whole(y);
}
