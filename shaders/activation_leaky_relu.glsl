// x for x > 0, SLOPE * x for smaller x.
//
// FLATTER   all slopes are at most 1, so that the result is the larger of both products
#ifndef SLOPE
#define SLOPE 0.3
#endif
vec4 activation(vec4 x) {
#ifdef FLATTER
    return max(x, SLOPE * x);
#else
    return max(x, 0.0) + SLOPE * min(x, 0.0);
#endif
}
