// Two values of a vector that is concatenated or gathered from others.
//
// FIRST, SECOND   the texels that contain the two values
#ifndef FIRST
#define FIRST vec4(0.0)
#define SECOND vec4(0.0)
#endif
//@ declarations
uniform vec2 lanes; // which of the two values of FIRST and of SECOND: 0 or 1
uniform vec2 factors; // from units of the inputs to units of the output

void main() {
    vec2 first = decode(FIRST);
    vec2 second = decode(SECOND);
    gl_FragColor = encode(vec2(mix(first.x, first.y, lanes.x), mix(second.x, second.y, lanes.y)) * factors);
}
