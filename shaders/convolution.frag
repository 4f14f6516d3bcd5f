// One slice (4 output channels) of a convolution with all that is fused into it: bias with folded batch
// norm, residual, activation. Input slices may lie anywhere; coord<k> holds the coordinates of sources
// 2k (.xy) and 2k + 1 (.zw) for the first tap, and taps are whole texels apart.
//
// WEIGHT_COUNT   weights come from a uniform array: one vec4 (four output channels) for each input
//                channel of each tap, the residual's factor if it has one, the bias last. Without it they
//                are constants in the text.
// BIAS           where the sum starts
// A device that defines LATE_FETCH wants fetches to depend on the sum so far, so that registers last for more. WAIT(at)
// is at, but no compiler can know. It waits for the fourth component, and there are two ways to keep that small:
//
// LATE           a number that the fourth component stays below. On such a device it starts so much lower: it is
//                negative all the time then.
// UNIT           what the fourth component is in units of, 2^40: all its weights are so much smaller. Nothing is lost,
//                and no coordinate is as small as any sum then.
// CUT_BIAS       where the sum starts with CUT_SUMS (cut_sums.glsl): lower by LATE already, and by what cuts add in the
//                mean
#ifndef BIAS
#define BIAS vec4(0.0)
#define CUT_BIAS vec4(0.0)
#endif
#ifndef LATE
#define AT_ONCE
#endif
#ifdef UNIT
#undef AT_ONCE
#endif
#ifdef AT_ONCE
#undef LATE_FETCH
#endif
#ifdef LATE_FETCH
#define WAIT(at) max(at, sum.w)
#ifdef LATE
#define LOWER
#endif
#else
#define WAIT(at) at
#endif

//@ declarations

#ifdef WEIGHT_COUNT
uniform vec4 weights[WEIGHT_COUNT];
#ifdef LOWER
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
#ifdef LOWER
    sum.w -= LATE;
#endif
#endif
    //@ coordinates
    //@ taps
#ifdef LOWER
    sum.w += LATE;
#endif
#ifdef UNIT
    sum.w *= UNIT;
#endif
    gl_FragColor = store(activation(sum));
}
