// From the value of a function to what is stored of it, where weights cannot do that.
vec4 ranged(vec4 y) {
#ifdef RANGE_FACTOR
    y *= RANGE_FACTOR;
#endif
#ifdef RANGE_OFFSET
    y += RANGE_OFFSET;
#endif
    return y;
}
