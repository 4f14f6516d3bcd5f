// 16-bit fixed point over [-128, 128), in units of the tensor's scale: two values a texel, each an integer part (offset
// by 128) and a fraction of 1/256.
vec2 decode(vec4 texel) {
    vec4 bytes = floor(texel * 255.0 + 0.5);
    return bytes.xz - 128.0 + bytes.yw * (1.0 / 256.0);
}

// The same for sums, without rounding (docs/engineering/videocore-shaders.md).
vec2 decode_factor(vec4 texel) {
    return texel.xz * 255.0 - 128.0 + texel.yw * (255.0 / 256.0);
}

// Rounds to nearest and saturates. Clamped before floor, which VideoCore IV makes of a conversion to integers.
vec4 encode(vec2 values) {
    vec2 n = floor(clamp(values * 256.0 + 0.5, -32768.0, 32767.0));
    vec2 high = floor(n * (1.0 / 256.0));
    vec2 low = n - 256.0 * high;
    vec4 bytes = vec4(high.x + 128.0, low.x, high.y + 128.0, low.y);
#ifdef ROUND_STORES
    bytes += 0.25; // as in store.glsl
#endif
    return bytes * (1.0 / 255.0);
}
