// What a shader writes to a texture of 8 bits. A store should round to the nearest step; not every GPU's does. The
// runner measures that and defines ROUND_STORES where the shader has to see to it itself.
vec4 store(vec4 y) {
#ifdef ROUND_STORES
    return floor(y * 255.0 + 0.5) * (1.0 / 255.0);
#else
    return y;
#endif
}
