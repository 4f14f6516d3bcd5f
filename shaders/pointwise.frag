// activation(sum of factors * inputs + offset): one slice of a sum of one or more feature maps.
//
// OFFSET   the inputs have other ranges than [0, 1]: each has a factor, and the sum starts at the offset (at cut_offset
//          with CUT_SUMS, cut_sums.glsl)
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
    //@ terms  Adds each input times its factor.
    //@ pad_lanes Padding lanes must be 0 after the activation.
    gl_FragColor = store(activation(sum));
}
