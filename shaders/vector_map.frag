// activation(VECTOR_SCALE * x): one slice of a feature map that is reshaped from a vector. A pixel has four values.
//
// FIRST, SECOND, THIRD   pairs of values of the vector
// ODD_CHANNELS           the map has an odd number of channels: if `odd` is 1, the pixel's values begin with the second
//                        value of FIRST
//@ declarations
#ifndef VECTOR_SCALE
#define VECTOR_SCALE 1.0
#define FIRST vec2(0.0)
#define SECOND vec2(0.0)
#define THIRD vec2(0.0)
#endif
#ifdef ODD_CHANNELS
uniform float odd;
#endif

void main() {
    vec4 y = vec4(FIRST, SECOND);
#ifdef ODD_CHANNELS
    y = mix(y, vec4(y.yzw, THIRD.x), odd);
#endif
    y *= VECTOR_SCALE;
    //@ result  Converts y to the stored range, if it differs.
    //@ pad_lanes Padding lanes must be 0 after the activation.
    gl_FragColor = store(activation(y));
}
