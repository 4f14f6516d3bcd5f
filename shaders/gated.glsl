// (texel - zero) * gate + zero: multiply the values of a texel by gates from 0 to 1. `zero` is the texel of values that
// are 0.
//
// Two texels of a vector, `first` and `second`, have the four gates in 16-bit fixed point (fixed_point.glsl). The bytes
// of gates are not rounded to integers: because 128 is subtracted first, the error is small.
#ifndef GATE_SCALE
#define GATE_SCALE 1.0
#endif
vec4 gated(vec4 texel, vec4 first, vec4 second, vec4 zero) {
    vec4 gate = (vec4(first.xz, second.xz) - 128.0 / 255.0) * (255.0 * GATE_SCALE);
    gate += vec4(first.yw, second.yw) * (255.0 / 256.0 * GATE_SCALE);
    return (texel - zero) * gate + zero;
}
