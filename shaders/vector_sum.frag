// activation(sum of vectors): two values of the result in a texel.
#ifndef INVERSE_SCALE
#define INVERSE_SCALE 1.0
#endif
//@ declarations

void main() {
    vec2 sum = vec2(0.0);
    //@ terms  Adds each vector times its factor.
    sum = activation(sum.xyxy).xy;
    gl_FragColor = encode(sum * INVERSE_SCALE);
}
