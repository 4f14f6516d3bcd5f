// min(max(x, LOW), HIGH)
//
// LOW, HIGH   limits; each is defined only if it exists
vec4 activation(vec4 x) {
#ifdef LOW
    x = max(x, LOW);
#endif
#ifdef HIGH
    x = min(x, HIGH);
#endif
    return x;
}
