// log(1 + exp(x)) = max(x, 0) + log(1 + z) with z = exp(-|x|), which cannot overflow.
//
// With s = z / (2 + z), which is at most 1/3, log(1 + z) = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) (M. Abramowitz and
// I. Stegun, Handbook of Mathematical Functions, 4.1.27). The series ends with the ninth power. Its factors make it
// exact at the five Chebyshev points of s^2 in [0, 1/9]; the error is less than 3e-9. Some GPUs compute log() with few
// digits.
vec4 activation(vec4 x) {
    vec4 z = exp(-abs(x));
    vec4 s = z / (2.0 + z);
    vec4 q = s * s;
    return max(x, 0.0) + s * (2.0 + q * (0.666663216 + q * (0.400245952 + q * (0.279651577 + q * 0.281577784))));
}
