// One slice of a wide convolution: its partial sums are added up, scaled, and joined by bias, residual and activation.
//
// CONSTANTS   2, or 3 with a residual: vec4s of factors of the sum, factors of the residual, bias
// RESIDUAL    the residual's texel
#ifndef CONSTANTS
#define CONSTANTS 2
#endif

//@ declarations
uniform vec4 constants[CONSTANTS];

void main() {
    vec4 sum = vec4(0.0);
    //@ terms Each texel holds the partial sums of two channels.
    vec4 y = constants[CONSTANTS - 1];
    y += constants[0] * sum;
#ifdef RESIDUAL
    y += constants[1] * RESIDUAL;
#endif
    gl_FragColor = store(activation(y));
}
