// x for x > THRESHOLD, otherwise VALUE.
#ifndef THRESHOLD
#define THRESHOLD 0.0
#define VALUE 0.0
#endif
vec4 activation(vec4 x) {
    return mix(x, vec4(VALUE), step(x, vec4(THRESHOLD)));
}
