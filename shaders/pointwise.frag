// One slice of an elementwise operation: the sum of one or more inputs, then the activation.
//@ declarations

void main() {
    vec4 sum = vec4(0.0);
    //@ terms
    gl_FragColor = store(activation(sum));
}
