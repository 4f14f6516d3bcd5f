// 1 / (1 + exp(-x))
vec4 activation(vec4 x) {
    return 1.0 / (1.0 + exp(-x));
}
