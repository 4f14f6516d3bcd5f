// One axis of an image rectangle, reduced by the exact area average. A pass along x and a pass along y reduce both.
//
// A pixel's window covers up to TAPS texels. The weight of a texel is the share of it that is inside the window.
//
// SAMPLER               type of the sampler; runners define another one for external textures
// READ, VALUE, STORED   a fetch, its type, and the stored texel; runners define them for images with alpha or in grey
#ifndef TAPS
#define TAPS 3
#endif
#ifndef SAMPLER
#define SAMPLER sampler2D
#endif
#ifndef READ
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

// WAIT(at) equals at, because neither the sum nor a coordinate is negative, and VideoCore IV fetches there only after
// the sum so far (convolution.frag). With 24 taps, its compiler would not have enough registers for all texels at once.
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(dot(sum, VALUE(1.0)), 0.0))
#else
#define WAIT(at) at
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
    float width = side / size;
    float begin = dot(pixel, axis) * width;
    float end = begin + width;
    float first = floor(begin);
    VALUE sum = VALUE(0.0);
    for (int tap = 0; tap < TAPS; ++tap) {
        float at = first + float(tap);
        float share = clamp(min(end, at + 1.0) - max(begin, at), 0.0, 1.0);
        vec2 texel = across + axis * at; // beyond the rectangle its share is 0
        sum += share * READ(WAIT((texel + 0.5) * source_texel));
    }
    gl_FragColor = store(STORED(sum / width));
}
