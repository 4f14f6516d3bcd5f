// SCALE * x for x > 0, ALPHA * (exp(x) - 1) for smaller x. The exponent is never positive, so it cannot overflow.
#ifndef ALPHA
#define ALPHA 1.0
#define SCALE 1.0
#endif
vec4 activation(vec4 x) {
    return SCALE * max(x, 0.0) + ALPHA * (exp(min(x, 0.0)) - 1.0);
}
