// One slice (4 output channels) of a convolution with all that is fused into it: bias with folded batch
// norm, residual, activation. Input slices may lie anywhere; coord<k> holds the coordinates of sources
// 2k (.xy) and 2k + 1 (.zw) for the first tap, and taps are whole texels apart.
//
// WEIGHT_COUNT   weights come from a uniform array: one vec4 (four output channels) for each input
//                channel of each tap, the residual's factor if it has one, the bias last. Without it they
//                are constants in the text.
// BIAS           where the sum starts
// LATE           a number that the fourth component of the sum stays below. On a device that defines
//                LATE_FETCH that component starts so much lower: it is negative all the time then, and WAIT(at) is at,
//                but no compiler can know, and fetches only when the sum is so far. Registers last for more then.
// CUT_BIAS       where it starts with CUT_SUMS (cut_sums.glsl): lower by LATE already, and by what cuts add in the mean
#ifndef BIAS
#define BIAS vec4(0.0)
#define CUT_BIAS vec4(0.0)
#endif
#ifndef LATE
#undef LATE_FETCH
#endif
#ifdef LATE_FETCH
#define WAIT(at) max(at, sum.w)
#else
#define WAIT(at) at
#endif

//@ declarations

#ifdef WEIGHT_COUNT
uniform vec4 weights[WEIGHT_COUNT];
#ifdef LATE_FETCH
uniform float late;
#endif
#ifdef CUT_SUMS
uniform vec4 cut_bias;
#endif
#endif

void main() {
    vec4 s, t;
    // The bias comes first: added last, a compiler may fold a constant one into the activation.
#ifdef CUT_SUMS
    vec4 sum = CUT_BIAS;
#else
    vec4 sum = BIAS;
#ifdef LATE_FETCH
    sum.w -= LATE;
#endif
#endif
    //@ coordinates
    //@ taps
#ifdef LATE_FETCH
    sum.w += LATE;
#endif
    gl_FragColor = store(activation(sum));
}
