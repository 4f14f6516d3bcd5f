// exp(x - largest) / sum of exp(x - largest) of a vector, two values in a texel.
//
// PAIRS    texels with two values of the vector
// SINGLE   there is one more texel, with one value
#ifndef PAIRS
#define PAIRS 1
#define SCALE 1.0
#define INVERSE_SCALE 1.0
#define WIDTH 1.0
#endif
varying vec4 coord0; // .xy the texel with the same two values
uniform sampler2D source;

// Return a texel's two values. The fetch waits for `after`, which is never negative (late.glsl). Otherwise VideoCore
// IV's compiler keeps all texels of the first loop for the second.
vec2 pair(float number, float after) {
    vec2 at = vec2((number + 0.5) / WIDTH, 0.5);
    return decode(texture2D(source, LATE(at, vec4(after)))) * SCALE;
}

void main() {
    float largest = pair(0.0, 0.0).x;
#ifdef SINGLE
    largest = max(largest, pair(float(PAIRS), 0.0).x);
#endif
    for (int i = 0; i < TURNS(PAIRS); i++) {
        END_AFTER(PAIRS, i)
        vec2 x = pair(float(i), largest + 129.0 * SCALE);
        largest = max(largest, max(x.x, x.y));
    }
    float sum = 0.0;
#ifdef SINGLE
    sum += exp(pair(float(PAIRS), sum).x - largest);
#endif
    for (int i = 0; i < TURNS(PAIRS); i++) {
        END_AFTER(PAIRS, i)
        vec2 x = pair(float(i), sum);
        sum += exp(x.x - largest) + exp(x.y - largest);
    }
    vec2 own = decode(texture2D(source, coord0.xy)) * SCALE - largest;
    gl_FragColor = encode(exp(min(own, 0.0)) * (INVERSE_SCALE / sum));
}
