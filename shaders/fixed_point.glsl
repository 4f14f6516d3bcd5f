// 16-bit fixed point in [-128, 128): a texel has two values, each with a byte for its integer part plus 128 and a byte
// for its fraction in 1/256. Values are in units of the tensor's scale, a power of two.
vec2 decode(vec4 texel) {
    vec4 bytes = floor(texel * 255.0 + 0.5);
    return bytes.xz - 128.0 + bytes.yw * (1.0 / 256.0);
}

// Round to the nearest multiple of 1/256 and saturate. The clamp comes before floor, because VideoCore IV computes
// floor by a conversion to integers, which returns 0 on overflow.
vec4 encode(vec2 values) {
    vec2 n = floor(clamp(values * 256.0 + 0.5, -32768.0, 32767.0));
    vec2 high = floor(n * (1.0 / 256.0));
    vec2 low = n - 256.0 * high;
    vec4 bytes = vec4(high.x + 128.0, low.x, high.y + 128.0, low.y);
#ifdef ROUND_STORES
    bytes += 0.25; // see store.glsl
#endif
    return bytes * (1.0 / 255.0);
}
