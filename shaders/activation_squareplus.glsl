// (x + sqrt(x^2 + B)) / 2
//
// For negative x the sum would lose digits. There it is computed as B / 2 / (sqrt(x^2 + B) - x).
#ifndef B
#define B 4.0
#endif
vec4 activation(vec4 x) {
    vec4 q = x * x + B;
    vec4 sum = q * inversesqrt(q) + abs(x);
    return mix(0.5 * B / sum, 0.5 * sum, step(0.0, x));
}
