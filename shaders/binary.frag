// activation(a op b): one slice of an elementwise operation on two feature maps.
//
// The operands and the result are real values. The generated lines contain the factors and offsets of the stored bytes.
//@ declarations

void main() {
    //@ operands
    vec4 y = vec4(0.0);
    //@ result
    //@ pad_lanes Padding lanes must be 0 after the activation.
    gl_FragColor = store(activation(y));
}
