// sin(x), or cos(x) with a PHASE of a quarter turn.
//
// The angle is folded into [-pi/2, pi/2], and a polynomial of degree 9 computes the sine with an error of less than
// 4e-6. The sin() of VideoCore IV's driver has an error of 7e-3 near pi.
#ifndef PHASE
#define PHASE 0.0
#endif
vec4 activation(vec4 x) {
    vec4 y = (0.25 - abs(fract(x * 0.159154943 + PHASE) - 0.5)) * 6.28318531;
    vec4 z = y * y;
    return y * (1.0 + z * (-0.166666667 + z * (0.00833333333 + z * (-0.000198412698 + z * 0.00000275573192))));
}
