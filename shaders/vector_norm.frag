// factor * (x - mean) / sqrt(SHARE * sum of (x - mean)^2 + EPSILON) + offset for each value of a vector, then the
// activation.
//
// Factors and offsets are stored as in vector_affine.frag.
//
// PAIRS     texels with two values of the vector
// SINGLE    there is one more texel, with one value
// CENTRED   the mean is subtracted; otherwise 0
// LEAST     lower limit of the root's argument
#ifndef PAIRS
#define PAIRS 1
#define SHARE 1.0
#define EPSILON 0.0
#define LEAST 0.0
#define INVERSE_SCALE 1.0
#define FACTOR_UNIT 1.0
#define OFFSET_UNIT 1.0
#define WIDTH 1.0
#define ROWS 3
#define CENTRE 1.0
#endif
varying vec4 coord0; // .xy the texel with the same two values, .zw the first texel of their factors and offsets
uniform sampler2D source;
uniform sampler2D kernel;

// Return a texel's two values. The fetch waits for `after`, which is never negative (late.glsl). Otherwise VideoCore
// IV's compiler keeps all texels of the first loop for the second.
vec2 pair(float number, float after) {
    vec2 at = vec2((number + 0.5) / WIDTH, 0.5);
    return decode(texture2D(source, LATE(at, vec4(after))));
}

vec4 row(float number) {
    return floor(texture2D(kernel, vec2(coord0.z, (number + 0.5) / float(ROWS))) * 255.0 + 0.5);
}

void main() {
    float mean = 0.0;
#ifdef CENTRED
#ifdef SINGLE
    mean += pair(float(PAIRS), 0.0).x;
#endif
    for (int i = 0; i < TURNS(PAIRS); i++) {
        END_AFTER(PAIRS, i)
        vec2 x = pair(float(i), mean + 129.0 * float(2 * PAIRS + 2));
        mean += x.x + x.y;
    }
    mean *= CENTRE;
#endif
    float sum = 0.0;
#ifdef SINGLE
    float last = pair(float(PAIRS), sum).x - mean;
    sum += last * last;
#endif
    for (int i = 0; i < TURNS(PAIRS); i++) {
        END_AFTER(PAIRS, i)
        vec2 x = pair(float(i), sum) - mean;
        sum += dot(x, x);
    }
    vec4 numbers = 65536.0 * (row(0.0) - 128.0) + 256.0 * row(1.0) + row(2.0);
    vec2 y = (decode(texture2D(source, coord0.xy)) - mean) * inversesqrt(max(sum * SHARE + EPSILON, LEAST));
    y = y * (numbers.xy * FACTOR_UNIT) + numbers.zw * OFFSET_UNIT;
    y = activation(y.xyxy).xy;
    gl_FragColor = encode(y * INVERSE_SCALE);
}
