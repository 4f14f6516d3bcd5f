// x / (1 + |x|)
vec4 activation(vec4 x) {
    return x / (1.0 + abs(x));
}
