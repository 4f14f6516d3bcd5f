// convolution_sum.frag with the constants of all slices in a texture (lowering/number_texture.py): a row for each
// slice. One draw of many quads computes all slices.
//@ declarations

void main() {
    //@ no_numbers
    vec4 sum = vec4(0.0);
    //@ terms
    vec4 y = vec4(0.0);
    //@ numbers
    gl_FragColor = store(activation(y));
}
