// log(1 + exp(x)) = max(x, 0) + log(1 + z), z = exp(-|x|), which cannot overflow. With s = z / (2 + z), at most 1/3,
// log(1 + z) = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) (Abramowitz and Stegun, 4.1.27). Without the powers
// above the ninth it is too small by less than 1.2e-6. It needs no logarithm, of which some GPUs have few digits.
vec4 activation(vec4 x) {
    vec4 z = exp(-abs(x));
    vec4 s = z / (2.0 + z);
    vec4 q = s * s;
    return max(x, 0.0) + s * (2.0 + q * (2.0 / 3.0 + q * (2.0 / 5.0 + q * (2.0 / 7.0 + q * (2.0 / 9.0)))));
}
