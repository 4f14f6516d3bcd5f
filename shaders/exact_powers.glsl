// exp, log and pow with full float precision on VideoCore IV, whose functions have 12 bits.
//
// LATE_FETCH identifies VideoCore IV. Its exp2 computes only integer powers of two here, and its log only a first
// approximation.
#ifdef LATE_FETCH
// exp(x) = 2^n exp(r) with r = x - n log(2), |r| <= 0.35. log(2) is the sum of two constants, so that products are
// exact. exp(r) = 1 + r + r^2 (1/2 + r/6 + ...), with factors fitted to that interval. The error is 1.2e-8.
vec4 exact_exp(vec4 x) {
    vec4 n = floor(x * 1.44269504 + 0.5);
    vec4 r = (x - n * 0.693359375) + n * 2.12194440e-4;
    vec4 p = 0.0416664483 + r * (0.00836438339 + r * 0.00139354545);
    return exp2(n) * (1.0 + (r + r * r * (0.5 + r * (0.166665696 + r * p))));
}

float exact_exp(float x) {
    return exact_exp(vec4(x)).x;
}

vec2 exact_exp(vec2 x) {
    return exact_exp(x.xyxy).xy;
}

// log(x) = y + log(1 + d), where y approximates log(x) and 1 + d = x exp(-y). |d| <= 0.01.
vec4 exact_log(vec4 x) {
    vec4 y = log(x);
    vec4 d = x * exact_exp(-y) - 1.0;
    return y + d * (1.0 - d * (0.5 - d * (1.0 / 3.0)));
}

vec4 exact_pow(vec4 x, vec4 y) {
    return exact_exp(y * exact_log(x));
}
#define exp exact_exp
#define log exact_log
#define pow exact_pow
#endif
