// A sigmoid of straight pieces: a line, plus clamped multiples of it, cut off at 0 and 1. The line is part of the
// weights where a feature map is made, and the store to 8 bits cuts off, so that there only the clamps are left.
vec4 activation(vec4 x) {
    //@ line
    vec4 y = x;
    //@ clamps
    //@ limits
    return y;
}
