// activation(factor * (x - mean) / sqrt(variance + EPSILON) + offset): one slice of a normalisation over channels.
//
// SHARE     1 / number of channels for the variance, 1 for the sum of squares
// EPSILON   addend of the variance, in units of the stored bytes
// LEAST     lower limit of the root's argument
#ifndef SHARE
#define SHARE 0.25
#define EPSILON 0.001
#define LEAST 1e-12
#endif
//@ declarations
uniform vec4 own_factor;
uniform vec4 own_offset;
uniform vec4 factor;
uniform vec4 offset;

void main() {
    vec4 sum = vec4(0.0);
    //@ sums  Adds all slices to `sum`.
    vec4 mean = vec4(SHARE * dot(sum, vec4(1.0)));
    vec4 x = vec4(0.0);
    vec4 squares = vec4(0.0); // minus the sum: compilers that know it to be positive remove the wait
    //@ squares  Subtracts the squares of all slices, with `x` as a temporary variable.
    float inverse = inversesqrt(max(EPSILON - SHARE * dot(squares, vec4(1.0)), LEAST));
    vec4 y = x;
    //@ own  Assigns the slice's own input to y.
    y = factor * ((y - mean) * inverse) + offset;
    gl_FragColor = store(activation(y));
}
