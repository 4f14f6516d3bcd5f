// 0 for x < -1, (x + 1)^2 / 4 for x < 1, otherwise x.
//
// With c = clamp(x + 1, 0, 2), this is c^2 / 4 + max(x - 1, 0).
vec4 activation(vec4 x) {
    vec4 c = clamp(x + 1.0, 0.0, 2.0);
    return 0.25 * c * c + max(x - 1.0, 0.0);
}
