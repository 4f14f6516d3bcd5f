// Partial sums of a wide convolution: two of a slice's four output channels over one block of input slices, as two
// values of 16 bits.
//
// Weights are pairs, one for each input channel of each tap. The last pair is the bias, which compensates for the zero
// points of the inputs.
//
// WEIGHT_COUNT   weights are in a uniform array, two pairs in a vec4. Otherwise they are constants in the generated
//                lines
// BIAS           the start of the sum
// CUT_BIAS       the start with CUT_SUMS (cut_sums.glsl)
#ifndef BIAS
#define BIAS vec2(0.0)
#define CUT_BIAS vec2(0.0)
#endif
// WAIT(at) equals at, because no coordinate is negative, and VideoCore IV fetches there only after both components of
// the sum so far (convolution.frag). The compiler computes them in two chains, and would fetch all texels at once for a
// component without a wait.
#ifdef LATE_FETCH
#define WAIT(at) max(at, min(min(sum.x, sum.y), 0.0))
#else
#define WAIT(at) at
#endif

//@ declarations

#ifdef WEIGHT_COUNT
uniform vec4 weights[WEIGHT_COUNT];
#ifdef CUT_SUMS
uniform vec2 cut_bias;
#endif
#endif

void main() {
    vec4 s, t;
    //@ coordinates
#ifdef CUT_SUMS
    vec2 sum = CUT_BIAS;
#else
    vec2 sum = BIAS;
#endif
    //@ taps
    gl_FragColor = encode(sum);
}
