// One slice of a map that is made of a vector: the four numbers of a pixel, then the activation.
// With ODD they begin at the second number of a texel where odd is 1, for maps of an odd number of channels.
//@ declarations
#ifndef SCALE
#define SCALE 1.0
#define FIRST vec2(0.0)
#define SECOND vec2(0.0)
#define THIRD vec2(0.0)
#endif
#ifdef ODD
uniform float odd;
#endif

void main() {
    vec4 y = vec4(FIRST, SECOND);
#ifdef ODD
    y = mix(y, vec4(y.yzw, THIRD.x), odd);
#endif
    y *= SCALE;
    //@ result
    //@ pad_lanes Lanes beyond the last channel must come out of the activation as 0.
    gl_FragColor = store(activation(y));
}
