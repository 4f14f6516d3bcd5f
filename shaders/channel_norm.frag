// One slice of a normalisation over channels, then the activation.
//
// SHARE     what is taken of the sum of squares: one divided by the number of channels, or 1
// EPSILON   is added to it, in units of the numbers read
// LEAST     the least that a root is taken of
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
    //@ sums
    vec4 mean = vec4(SHARE * dot(sum, vec4(1.0)));
    vec4 x = vec4(0.0);
    vec4 squares = vec4(0.0); // negative, for late.glsl
    //@ squares
    float inverse = inversesqrt(max(EPSILON - SHARE * dot(squares, vec4(1.0)), LEAST));
    vec4 y = x;
    //@ own
    y = factor * ((y - mean) * inverse) + offset;
    gl_FragColor = store(activation(y));
}
