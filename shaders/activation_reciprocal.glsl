// 1 / x; nearer to 0 than 2^-40 as there, 0 itself as above.
vec4 activation(vec4 x) {
    return (2.0 * step(0.0, x) - 1.0) / max(abs(x), 9.09494702e-13);
}
