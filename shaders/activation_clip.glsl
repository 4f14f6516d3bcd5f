// x within limits.
//
// LOW, HIGH   the limits, where there are
vec4 activation(vec4 x) {
#ifdef LOW
    x = max(x, LOW);
#endif
#ifdef HIGH
    x = min(x, HIGH);
#endif
    return x;
}
