// One slice (4 output channels) of a convolution with all that is fused into it: bias with folded batch
// norm, residual, activation. Input slices may lie anywhere; coord<k> holds the coordinates of sources
// 2k (.xy) and 2k + 1 (.zw) for the first tap, and taps are whole texels apart.
//
// WEIGHT_COUNT   weights come from a uniform array: one vec4 (four output channels) for each input
//                channel of each tap, the residual's factor if it has one, the bias last. Without it they
//                are constants in the text.
// BIAS           where the sum starts
// RESIDUAL       the residual's texel, in units of the sum
#ifndef BIAS
#define BIAS vec4(0.0)
#endif

//@ declarations

#ifdef WEIGHT_COUNT
uniform vec4 weights[WEIGHT_COUNT];
#endif

void main() {
    vec4 t;
    // The bias comes first: added last, a compiler may fold a constant one into the activation.
    vec4 sum = BIAS;
    //@ taps
#ifdef RESIDUAL
    sum += RESIDUAL;
#endif
    gl_FragColor = store(activation(sum));
}
