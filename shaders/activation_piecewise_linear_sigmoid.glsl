// A sigmoid of seven straight pieces: slope 0.2 for |x| < 0.5, 0.1 for |x| < 2.5, 0.05 for |x| < 6.5, then 0.
//
// The formula clamp(0.05x + clamp(0.1x, -0.05, 0.05) + clamp(0.05x, -0.125, 0.125), -0.5, 0.5) + 0.5, with shared
// constants.
vec4 activation(vec4 x) {
    vec4 u = 0.05 * x + 0.125;
    return clamp(u + clamp(u, 0.0, 0.25) + clamp(2.0 * u, 0.2, 0.3), 0.0, 1.0);
}
