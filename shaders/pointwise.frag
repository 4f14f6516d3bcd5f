// One slice of an elementwise operation: the sum of one or more inputs, then the activation.
//
// OFFSET   the inputs have ranges other than [0, 1]: each is multiplied by a factor, and the sum starts at an offset
//@ declarations
#ifdef OFFSET
uniform vec4 offset;
#endif

void main() {
#ifdef OFFSET
    vec4 sum = offset;
#else
    vec4 sum = vec4(0.0);
#endif
    //@ terms
    //@ pad_lanes Lanes beyond the last channel must come out of the activation as 0.
    gl_FragColor = store(activation(sum));
}
