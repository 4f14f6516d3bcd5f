// y * RANGE_FACTOR + RANGE_OFFSET: convert the value of an activation to the range of the stored bytes.
//
// It is used if the activation's constants and the layer's weights cannot contain this conversion.
vec4 ranged(vec4 y) {
#ifdef RANGE_FACTOR
    y *= RANGE_FACTOR;
#endif
#ifdef RANGE_OFFSET
    y += RANGE_OFFSET;
#endif
    return y;
}
