// sqrt(max(x, 0)), computed as x / sqrt(x).
//
// GPUs without a square root compute it from the reciprocal root, which is infinite at 0.
vec4 activation(vec4 x) {
    return max(x, 0.0) * inversesqrt(max(x, 9.09494702e-13));
}
