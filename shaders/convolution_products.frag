// Partial sums of a wide convolution: two of a slice's four output channels over one block of input slices, as
// two 16-bit numbers. Weights are pairs, one for each input channel of each tap; the bias, which is the last, undoes
// the zero points of the inputs.
//
// WEIGHT_COUNT   weights come from a uniform array, two pairs to a vec4. Without it they are constants.
// BIAS           where the sum starts
// CUT_BIAS       where it starts with CUT_SUMS (cut_sums.glsl)
#ifndef BIAS
#define BIAS vec2(0.0)
#define CUT_BIAS vec2(0.0)
#endif
// A device may want fetches to depend on the sum so far (convolution.frag); no coordinate is negative. Both components
// count: a compiler makes them in two chains, and would fetch for the one that nobody waits for, all texels at once.
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
