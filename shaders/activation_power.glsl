// x to a power. Sizes below 2^-40 are as there in negative powers, and give 0 in others.
//
// WHOLE      the exponent is a whole number: numbers below 0 have powers; else they are as 0
// ODD        these have the sign of the number
// WHOLES     the exponent is this number of ones, or of minus ones with NEGATIVE, and
// QUARTERS   so many quarters: products of roots are more exact than an exponential of a logarithm
// EXPONENT   the exponent, else
#ifndef LEAST
#define LEAST 9.09494702e-13
#endif
#if !defined(EXPONENT) && !defined(WHOLES)
#define EXPONENT 1.4
#endif
vec4 activation(vec4 x) {
#ifdef WHOLE
    vec4 size = max(abs(x), LEAST);
#else
    vec4 size = max(x, LEAST);
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
    y *= step(LEAST * 1.001, size);
#endif
#ifdef ODD
    y *= 2.0 * step(0.0, x) - 1.0;
#endif
    return y;
}
