// log(1 + exp(x)) = max(x, 0) + log(1 + z), z = exp(-|x|), which cannot overflow. With s = z / (2 + z), at most 1/3,
// log(1 + z) = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) (Abramowitz and Stegun, 4.1.27). The series ends after the
// ninth power; its factors make up for the rest: they are those that are exact at the five Chebyshev points of s^2 in
// 0 to 1/9. That is off by less than 3e-9. It needs no logarithm, of which some GPUs have few digits.
vec4 activation(vec4 x) {
    vec4 z = exp(-abs(x));
    vec4 s = z / (2.0 + z);
    vec4 q = s * s;
    return max(x, 0.0) + s * (2.0 + q * (0.666663216 + q * (0.400245952 + q * (0.279651577 + q * 0.281577784))));
}
