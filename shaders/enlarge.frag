// One axis of a rectangle enlarged by linear interpolation between texel centres, as Pillow's bilinear filter does.
#ifndef SAMPLER // the runner defines it for a texture that another API's memory lies in
#define SAMPLER sampler2D
#endif
#ifndef READ // the runner defines these three for pictures with alpha, or that become grey
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

varying vec2 place;
uniform SAMPLER source;
uniform vec2 source_texel;
uniform vec2 origin;    // first texel of what is read
uniform vec2 axis;      // (1, 0) or (0, 1)
uniform vec2 rectangle; // width and height of what is drawn
uniform float side;     // texels of what is read along the axis
uniform float size;     // pixels of what is drawn along it

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
