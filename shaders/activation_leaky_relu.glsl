// x above 0, SLOPE * x below.
//
// FLATTER   no slope is above 1, so that the larger of both is right
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
