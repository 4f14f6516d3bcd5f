// x / (1 + exp(-x)), also called swish.
//
// The exponent is limited to 50, so that it does not overflow. A larger one would change the result by less than 1e-20.
vec4 activation(vec4 x) {
    return x / (1.0 + exp(min(-x, 50.0)));
}
