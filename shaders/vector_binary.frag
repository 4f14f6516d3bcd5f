// activation(a op b): an elementwise operation on two vectors, two values of the result in a texel.
//
// FIRST, SECOND   the operands
// RESULT          the expression of a and b
// INVERSE_SCALE   1 / scale of the stored values
#ifndef INVERSE_SCALE
#define INVERSE_SCALE 1.0
#define FIRST vec2(0.0)
#define SECOND vec2(0.0)
#define RESULT a + b
#endif
//@ declarations

void main() {
    vec2 a = FIRST;
    vec2 b = SECOND;
    vec2 y = RESULT;
    y = activation(y.xyxy).xy;
    gl_FragColor = encode(y * INVERSE_SCALE);
}
