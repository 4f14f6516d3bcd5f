// One axis of an image rectangle, enlarged by linear interpolation between texel centres as Pillow's bilinear filter
// does.
//
// SAMPLER               type of the sampler; runners define another one for external textures
// READ, VALUE, STORED   a fetch, its type, and the stored texel; runners define them for images with alpha or in grey
#ifndef SAMPLER
#define SAMPLER sampler2D
#endif
#ifndef READ
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

varying vec2 place;
uniform SAMPLER source;
uniform vec2 source_texel;
uniform vec2 origin;    // first texel of the source rectangle
uniform vec2 axis;      // (1, 0) or (0, 1)
uniform vec2 rectangle; // width and height of the drawn rectangle, in pixels
uniform float side;     // texels of the source rectangle along the axis
uniform float size;     // pixels of the drawn rectangle along the axis

void main() {
    vec2 pixel = floor(place * rectangle);
    vec2 across = origin + pixel * (1.0 - axis);
    float centre = (dot(pixel, axis) + 0.5) * side / size - 0.5;
    float low = floor(centre);
    vec2 first = across + axis * max(low, 0.0);
    vec2 second = across + axis * min(low + 1.0, side - 1.0);
    VALUE before = READ((first + 0.5) * source_texel);
    VALUE after = READ((second + 0.5) * source_texel);
    gl_FragColor = store(STORED(mix(before, after, centre - low)));
}
