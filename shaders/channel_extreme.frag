// The largest or smallest channel of a pixel, converted to the output's range.
//
// TAKE   max or min
#ifndef TAKE
#define TAKE max
#endif
//@ declarations
uniform float factor;
uniform float offset;

void main() {
    vec4 y = vec4(0.0);
    //@ slices
    float extreme = TAKE(TAKE(y.x, y.y), TAKE(y.z, y.w));
    gl_FragColor = store(vec4(factor * extreme + offset, 0.0, 0.0, 0.0));
}
