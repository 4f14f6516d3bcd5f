// 1 / sqrt(x); below 2^-40 as there.
vec4 activation(vec4 x) {
    return inversesqrt(max(x, 9.09494702e-13));
}
