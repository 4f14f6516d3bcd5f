// x for |x| > THRESHOLD, otherwise 0.
#ifndef THRESHOLD
#define THRESHOLD 0.5
#endif
vec4 activation(vec4 x) {
    return x * (1.0 - step(abs(x), vec4(THRESHOLD)));
}
