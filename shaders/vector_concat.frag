// Two numbers to a texel of a vector that is put together from several: each from wherever it lies.
#ifndef FIRST
#define FIRST vec4(0.0)
#define SECOND vec4(0.0)
#endif
//@ declarations
uniform vec2 lanes; // which of the two numbers of each texel that is read: 0 or 1
uniform vec2 factors; // from the units of what is read to those of what is stored

void main() {
    vec2 first = decode(FIRST);
    vec2 second = decode(SECOND);
    gl_FragColor = encode(vec2(mix(first.x, first.y, lanes.x), mix(second.x, second.y, lanes.y)) * factors);
}
