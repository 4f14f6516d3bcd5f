// x above 0, ALPHA (exp(x / ALPHA) - 1) below. The exponent is 0 or less and cannot overflow.
#ifndef ALPHA
#define ALPHA 1.0
#endif
vec4 activation(vec4 x) {
    return max(x, 0.0) + ALPHA * (exp(min(x, 0.0) * (1.0 / ALPHA)) - 1.0);
}
