// Store four values of [0, 1] in a texel of 8 bits, rounded to nearest.
//
// GPUs should round stores to the nearest step, but some truncate. A runner measures this and defines ROUND_STORES on
// GPUs that do not round. The shader then writes a quarter of a step more than the rounded step: both rounding and
// truncating GPUs store that step.

// Store values that are whole steps already, such as texels.
vec4 whole(vec4 y) {
#ifdef ROUND_STORES
    return y + 0.25 / 255.0;
#else
    return y;
#endif
}

vec4 store(vec4 y) {
#ifdef ROUND_STORES
    return whole(floor(y * 255.0 + 0.5) * (1.0 / 255.0));
#else
    return y;
#endif
}
