// A texel whose lanes are multiplied by gates from 0 to 1, which two texels of a vector hold in 16-bit fixed point
// (fixed_point.glsl). The bytes of a gate are not rounded to integers here: with the subtraction first, little is lost.
// Values are 0 where a texel is "zero", so that the result is between both.
#ifndef GATE_SCALE
#define GATE_SCALE 1.0
#endif
vec4 gated(vec4 texel, vec4 first, vec4 second, vec4 zero) {
    vec4 gate = (vec4(first.xz, second.xz) - 128.0 / 255.0) * (255.0 * GATE_SCALE);
    gate += vec4(first.yw, second.yw) * (255.0 / 256.0 * GATE_SCALE);
    return (texel - zero) * gate + zero;
}
