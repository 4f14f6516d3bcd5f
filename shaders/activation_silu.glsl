// x / (1 + exp(-x)), also called swish. Below -50 it is 0 to 20 digits, and the exponent stays finite.
vec4 activation(vec4 x) {
    return x / (1.0 + exp(min(-x, 50.0)));
}
