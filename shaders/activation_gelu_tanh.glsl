// x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) * (x + 0.044715 x^3), computed as x / (1 + exp(-2u)).
//
// The exponent is limited to 50. A larger one would change the result by less than 1e-20.
vec4 activation(vec4 x) {
    vec4 u = x * (1.59576912 + 0.0713548163 * (x * x));
    return x / (1.0 + exp(min(-u, 50.0)));
}
