// exp(x - largest) / sum of exp(x - largest): one slice of a softmax over channels. Because the largest value is
// subtracted, exponentials cannot overflow.
//
// UNIT   real value of one unit of x
#ifndef UNIT
#define UNIT 1.0
#endif
//@ declarations
uniform vec4 own_factor;
uniform vec4 own_offset;

void main() {
    vec4 x = vec4(0.0);
    //@ largest  Assigns the maximum of all slices to x.
    vec4 most = vec4(max(max(x.x, x.y), max(x.z, x.w)));
    vec4 sum = vec4(0.0); // minus the sum: compilers that know it to be positive remove the wait
    //@ sums  Subtracts the exponentials of all slices.
    vec4 y = x;
    //@ own  Assigns the slice's own input to y.
    y = exp(UNIT * (y - most)) / dot(sum, vec4(-1.0));
    //@ pad_lanes
    gl_FragColor = store(y);
}
