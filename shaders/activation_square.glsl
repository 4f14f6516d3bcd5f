// The limit changes no number. Without it VideoCore IV's compiler multiplies the factors before it in another order,
// with three times the registers.
vec4 activation(vec4 x) {
    return max(x * x, 0.0);
}
