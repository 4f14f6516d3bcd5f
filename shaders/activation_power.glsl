// x to the power of EXPONENT. If |x| < 2^-40, it is computed as 2^-40 if the exponent is negative, otherwise as 0.
//
// WHOLE      the exponent is an integer, so that negative x have a power. Otherwise negative x are computed as 0
// ODD        the integer exponent is odd: the result has the sign of x
// WHOLES     number of factors x, or 1 / x with NEGATIVE
// QUARTERS   number of further factors that are fourth roots of these
// EXPONENT   the exponent, without WHOLES
//
// Exponents that are small multiples of 1/4 are products of roots, which are more exact than exp(EXPONENT * log(x)).
#ifndef TINY
#define TINY 9.09494702e-13
#endif
#if !defined(EXPONENT) && !defined(WHOLES)
#define EXPONENT 1.4
#endif
vec4 activation(vec4 x) {
#ifdef WHOLE
    vec4 size = max(abs(x), TINY);
#else
    vec4 size = max(x, TINY);
#endif
#ifdef WHOLES
    vec4 y = vec4(1.0);
    vec4 root = inversesqrt(size);
#ifdef NEGATIVE
    vec4 base = root * root;
#else
    vec4 base = size;
#endif
    for (int k = 0; k < int(WHOLES); k++) {
        y *= base;
    }
    vec4 fourth = inversesqrt(root);
    for (int k = 0; k < int(QUARTERS); k++) {
        y *= fourth;
    }
#else
    vec4 y = pow(size, vec4(EXPONENT));
#endif
#ifndef NEGATIVE
    y *= step(TINY * 1.001, size);
#endif
#ifdef ODD
    y *= 2.0 * step(0.0, x) - 1.0;
#endif
    return y;
}
