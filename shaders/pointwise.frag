// One slice of an elementwise operation: the sum of one or more inputs, then the activation.
//
// OFFSET   the inputs have ranges other than [0, 1]: each is multiplied by a factor, and the sum starts at an offset
//            (with CUT_SUMS at another, cut_sums.glsl)
//@ declarations
#ifdef OFFSET
#ifdef CUT_SUMS
uniform vec4 cut_offset;
#define START cut_offset
#else
uniform vec4 offset;
#define START offset
#endif
#endif

void main() {
#ifdef OFFSET
    vec4 sum = START;
#else
    vec4 sum = vec4(0.0);
#endif
    //@ terms
    //@ pad_lanes Lanes beyond the last channel must come out of the activation as 0.
    gl_FragColor = store(activation(sum));
}
