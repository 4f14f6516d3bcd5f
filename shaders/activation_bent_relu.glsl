// MAXIMUM from there on, x from THRESHOLD on, SLOPE * (x - THRESHOLD) below.
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
