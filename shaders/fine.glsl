// Four channels of a map of 16 bits: their bytes lie in two texels, channels 0 and 1 in one, 2 and 3 so far down in the
// other. What comes out is a texel of the same map in 8 bits, with steps of 1/256 of its steps.
vec4 fine(sampler2D map, float down, vec2 at) {
    vec4 a = texture2D(map, at);
    vec4 b = texture2D(map, vec2(at.x, at.y + down));
    return vec4(a.xz, b.xz) + vec4(a.yw, b.yw) * (1.0 / 256.0);
}

// The same in bytes, whole multiples of 1/256.
vec4 fine_bytes(sampler2D map, float down, vec2 at) {
    vec4 a = floor(texture2D(map, at) * 255.0 + 0.5);
    vec4 b = floor(texture2D(map, vec2(at.x, at.y + down)) * 255.0 + 0.5);
    return vec4(a.xz, b.xz) + vec4(a.yw, b.yw) * (1.0 / 256.0);
}
