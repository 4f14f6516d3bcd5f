// A rotated rectangle of an image, scaled to the whole render target, in one pass.
//
// Each pixel is the mean of TAPS x TAPS samples of its area in the image, at most a texel apart. A sample interpolates
// linearly between four texel centres. Beyond the image, its edge is repeated.
//
// SAMPLER               type of the sampler; runners define another one for external textures
// READ, VALUE, STORED   a fetch, its type, and the stored texel; runners define them for images with alpha or in grey
#ifndef TAPS
#define TAPS 2
#endif
#ifndef SAMPLER
#define SAMPLER sampler2D
#endif
#ifndef READ
#define VALUE vec3
#define READ(place) texture2D(source, place).rgb
#define STORED(value) vec4(value, 1.0)
#endif

// Fetches that wait for the sum so far need fewer registers (area_average.frag).
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(dot(sum, VALUE(1.0)), 0.0))
#else
#define WAIT(at) at
#endif

varying vec2 place;
uniform SAMPLER source;
uniform vec2 source_texel;
uniform vec2 last;      // last texel of the image
uniform vec2 rectangle; // width and height of the drawn rectangle, in pixels
uniform vec2 first;     // texel at the top left corner of the rotated rectangle; texel centres are integers
uniform vec2 across;    // texels from a pixel to its right neighbour
uniform vec2 down;      // texels from a pixel to its lower neighbour

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
