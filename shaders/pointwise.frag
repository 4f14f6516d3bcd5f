// One slice of an elementwise operation: the sum of one or more inputs, then the activation.
//@ declarations

void main() {
    vec4 sum = vec4(0.0);
    //@ terms
    //@ pad_lanes Lanes beyond the last channel must come out of the activation as 0.
    gl_FragColor = store(activation(sum));
}
