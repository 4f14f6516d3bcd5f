// clamp(x, 0, MAXIMUM)
#ifndef MAXIMUM
#define MAXIMUM 6.0
#endif
vec4 activation(vec4 x) {
    return clamp(x, 0.0, MAXIMUM);
}
