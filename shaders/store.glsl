// What a shader writes to a texture of 8 bits. A store should round to the nearest step; not every GPU's does. The
// runner measures that and defines ROUND_STORES where the shader has to see to it itself. It then writes a quarter of a
// step more than the whole step that it means: stores that cut off keep that step, and so do those that round.
vec4 whole(vec4 y) { // y is a whole step already: a texel, say
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
