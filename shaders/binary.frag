// One slice of an operation on two operands, value by value, then the activation. Operands and result are real values;
// what they are worth in bytes is in the factors and offsets.
//@ declarations

void main() {
    //@ operands
    vec4 y = vec4(0.0);
    //@ result
    //@ pad_lanes Lanes beyond the last channel must come out of the activation as 0.
    gl_FragColor = store(activation(y));
}
