// x / 2 * (1 + erf(x / sqrt(2)))
//
// GLSL has no erf. With z = |x| / sqrt(2) and q = 1 - erf(z), the result is max(x, 0) - |x| / 2 * q. The approximation
// q = (a1 t + ... + a5 t^5) exp(-z z) with t = 1 / (1 + 0.3275911 z) has an error of at most 1.5e-7 (M. Abramowitz and
// I. Stegun, Handbook of Mathematical Functions, 7.1.26).
vec4 activation(vec4 x) {
    vec4 z = abs(x) * 0.70710678;
    vec4 t = 1.0 / (1.0 + 0.3275911 * z);
    vec4 q = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return max(x, 0.0) - 0.70710678 * z * (q * exp(-min(z * z, 80.0)));
}
