// One axis of a rectangle shrunk by the exact area average; twice, first along x, then along y, makes the whole. Of the
// TAPS texels that a pixel's window may touch, each counts with the share of it that lies inside.
#ifndef TAPS
#define TAPS 3
#endif
#ifndef SAMPLER // the runner defines it for a texture that another API's memory lies in
#define SAMPLER sampler2D
#endif
#ifndef READ // the runner defines these three for pictures with alpha, or that become grey
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

// A device may want fetches to depend on the sum so far (convolution.frag): of some 24 taps at once, VideoCore IV's
// compiler has no registers for all texels. Neither the sum nor a coordinate is negative.
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(dot(sum, VALUE(1.0)), 0.0))
#else
#define WAIT(at) at
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
    float width = side / size;
    float begin = dot(pixel, axis) * width;
    float end = begin + width;
    float first = floor(begin);
    VALUE sum = VALUE(0.0);
    for (int tap = 0; tap < TAPS; ++tap) {
        float at = first + float(tap);
        float share = clamp(min(end, at + 1.0) - max(begin, at), 0.0, 1.0);
        vec2 texel = across + axis * at; // whose share is 0 beyond the rectangle
        sum += share * READ(WAIT((texel + 0.5) * source_texel));
    }
    gl_FragColor = store(STORED(sum / width));
}
