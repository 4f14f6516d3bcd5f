// Read four channels of a map of 16 bits.
//
// A texel has the bytes of channels 0 and 1, the texel `down` below it those of channels 2 and 3. A value is its high
// byte plus 1/256 of its low byte.

// Return values of [0, 1].
vec4 fine(sampler2D map, float down, vec2 at) {
    vec4 a = texture2D(map, at);
    vec4 b = texture2D(map, vec2(at.x, at.y + down));
    return vec4(a.xz, b.xz) + vec4(a.yw, b.yw) * (1.0 / 256.0);
}

// Return values of [0, 256), multiples of 1/256, instead of [0, 1].
vec4 fine_bytes(sampler2D map, float down, vec2 at) {
    vec4 a = floor(texture2D(map, at) * 255.0 + 0.5);
    vec4 b = floor(texture2D(map, vec2(at.x, at.y + down)) * 255.0 + 0.5);
    return vec4(a.xz, b.xz) + vec4(a.yw, b.yw) * (1.0 / 256.0);
}
