// A turned rectangle of a picture over all that is drawn, in one pass: each pixel is the mean of TAPS x TAPS places in
// the part of the picture that it covers, no farther apart than texels are, each read between four texel centres.
// Beyond the picture its edge goes on.
#ifndef TAPS
#define TAPS 2
#endif
#ifndef SAMPLER // the runner defines it for a texture that another API's memory lies in
#define SAMPLER sampler2D
#endif
#ifndef READ // the runner defines these three for pictures with alpha, or that become grey
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

// As in area_average.frag: fetches that depend on the sum so far need fewer registers.
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(dot(sum, VALUE(1.0)), 0.0))
#else
#define WAIT(at) at
#endif

varying vec2 place;
uniform SAMPLER source;
uniform vec2 source_texel;
uniform vec2 last;      // the last texel of the picture
uniform vec2 rectangle; // width and height of what is drawn
uniform vec2 first;     // texel at the top left corner of the turned rectangle, whose own centre is a whole number
uniform vec2 across;    // texels from one pixel to the next, to the right
uniform vec2 down;      // and downwards

VALUE sum;

VALUE texel(vec2 at) {
    return READ(WAIT((at + 0.5) * source_texel));
}

void main() {
    vec2 pixel = floor(place * rectangle);
    sum = VALUE(0.0);
    for (int j = 0; j < TAPS; ++j) {
        for (int i = 0; i < TAPS; ++i) {
            vec2 part = pixel + (vec2(float(i), float(j)) + 0.5) / float(TAPS);
            vec2 at = clamp(first + part.x * across + part.y * down, vec2(0.0), last);
            vec2 low = floor(at);
            vec2 high = min(low + 1.0, last);
            vec2 share = at - low;
            VALUE upper = mix(texel(low), texel(vec2(high.x, low.y)), share.x);
            VALUE lower = mix(texel(vec2(low.x, high.y)), texel(high), share.x);
            sum += mix(upper, lower, share.y);
        }
    }
    gl_FragColor = store(STORED(sum / float(TAPS * TAPS)));
}
