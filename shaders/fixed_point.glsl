// 16-bit fixed point over [-128, 128): two values a texel, each an integer part (offset by 128) and a
// fraction of 1/256. Values are in units of the tensor's scale, a power of two.
vec2 decode(vec4 texel) {
    vec4 bytes = floor(texel * 255.0 + 0.5);
    return bytes.xz - 128.0 + bytes.yw * (1.0 / 256.0);
}

// Rounds to the nearest multiple of 1/256 and saturates; it never wraps. Clamped before floor: VideoCore IV
// makes floor of a conversion to integers, which gives 0 for what no integer holds.
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
