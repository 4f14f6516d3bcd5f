// min(x, MAXIMUM) for x >= THRESHOLD, SLOPE * (x - THRESHOLD) for smaller x.
//
// SLOPE       slope below THRESHOLD
// THRESHOLD   where the function bends
// MAXIMUM     upper limit; not defined if there is none
#ifndef SLOPE
#define SLOPE 0.25
#define THRESHOLD 1.0
#endif
vec4 activation(vec4 x) {
    vec4 y = x;
#ifdef MAXIMUM
    y = min(y, MAXIMUM);
#endif
    return mix(SLOPE * (x - THRESHOLD), y, step(THRESHOLD, x));
}
