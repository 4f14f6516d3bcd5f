// 1 / x. For |x| < 2^-40, |x| is computed as 2^-40. 0 counts as positive.
vec4 activation(vec4 x) {
    return (2.0 * step(0.0, x) - 1.0) / max(abs(x), 9.09494702e-13);
}
