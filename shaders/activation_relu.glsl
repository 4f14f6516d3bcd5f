// max(x, 0)
vec4 activation(vec4 x) {
    return max(x, 0.0);
}
