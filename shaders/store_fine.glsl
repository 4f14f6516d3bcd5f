// Store two values of [0, 1] in a texel of 16 bits each. It replaces store.glsl in layers with outputs of 16 bits.
//
// Steps are 1/256 of those of 8 bits. Both bytes of a value come from the same rounded value, so that no carry is lost.

// The channels of y to store. `export` replaces the expression.
vec2 stored_lanes(vec4 y) {
    return y.xy;
}

vec4 store(vec4 y) {
    vec2 n = floor(clamp(stored_lanes(y), 0.0, 1.0) * 65280.0 + 0.5);
    vec2 high = floor(n * (1.0 / 256.0));
    vec2 low = n - 256.0 * high;
    vec4 bytes = vec4(high.x, low.x, high.y, low.y);
#ifdef ROUND_STORES
    bytes += 0.25; // see store.glsl
#endif
    return bytes * (1.0 / 255.0);
}

vec4 whole(vec4 y) {
    return store(y);
}
