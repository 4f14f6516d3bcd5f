// activation(factor * sum of partial sums + residual factor * residual + bias): one slice of a wide convolution, whose
// partial sums are computed by convolution_products.frag.
//
// CONSTANTS   number of vec4 constants: 2 (factors, biases), or 3 with a residual (factors, residual factors, biases)
// RESIDUAL    texel of the residual
#ifndef CONSTANTS
#define CONSTANTS 2
#endif

//@ declarations
uniform vec4 constants[CONSTANTS];

void main() {
    vec4 sum = vec4(0.0);
    //@ terms Each texel has the partial sums of two channels.
    vec4 y = constants[CONSTANTS - 1];
    y += constants[0] * sum;
#ifdef RESIDUAL
    y += constants[1] * RESIDUAL;
#endif
    gl_FragColor = store(activation(y));
}
