// A sigmoid of straight pieces: a line plus clamped multiples of the line, clipped to [0, 1].
//
// Layers that store feature maps have the line in their weights, and stores of 8 bits clip. Then only the clamps
// remain.
vec4 activation(vec4 x) {
    //@ line
    vec4 y = x;
    //@ clamps
    //@ limits
    return y;
}
