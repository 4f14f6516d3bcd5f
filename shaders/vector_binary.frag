// An operation on two vectors, number by number, then the activation: two numbers to a texel.
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
