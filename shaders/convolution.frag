// One slice (four output channels) of a convolution and the operators fused into it:
//
//     y = activation(sum over taps and channels of weight * input + residual + bias)
//
// Batch normalisation is part of the weights and the bias.
//
// coord<k> has the coordinates of the first tap in sources 2k (.xy) and 2k + 1 (.zw). Other taps are whole texels away.
//
// WEIGHT_COUNT   weights are in a uniform array: a vec4 (four output channels) for each input channel of each tap, then
//                the residual's factor if it has one, then the bias. Otherwise they are constants in the generated
//                lines
// BIAS           the start of the sum
// CUT_BIAS       the start with CUT_SUMS (cut_sums.glsl): it includes the mean of the truncation, and -LATE
//
// The order of fetches: VideoCore IV's compiler moves all fetches to the front and runs out of registers, unless a
// coordinate depends on earlier results. Therefore its runner defines LATE_FETCH. Then WAIT(at) is max(at, sum.w), and
// each fetch waits for the fourth component of the sum. The result is at, because one of these keeps the component
// below all coordinates:
//
// LATE   an upper bound of the fourth component. On VideoCore IV the component starts lower by LATE, so that it is
//        always negative, and LATE is added at the end
// UNIT   2^40: the weights of the fourth component are divided by it, and the sum is multiplied by it. No precision is
//        lost
//
// AT_ONCE is defined without LATE and UNIT: the compiler can fetch all texels at once, so LATE_FETCH is ignored. The
// generated taps use the variables s and t for texels.
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
    // The bias is added first, because compilers may fold a constant that is added last into the activation.
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
