// The square root, as x / sqrt(x): GPUs without an instruction for it make it of the reciprocal of the root, which is
// infinite at 0. 0 below 0.
vec4 activation(vec4 x) {
    return max(x, 0.0) * inversesqrt(max(x, 9.09494702e-13));
}
