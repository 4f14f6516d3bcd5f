// x - clamp(x, -THRESHOLD, THRESHOLD)
#ifndef THRESHOLD
#define THRESHOLD 0.5
#endif
vec4 activation(vec4 x) {
    return x - clamp(x, -THRESHOLD, THRESHOLD);
}
