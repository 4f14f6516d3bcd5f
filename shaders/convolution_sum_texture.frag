// As convolution_sum.frag, but its numbers lie in a texture with a row for each slice (lowering/number_texture.py), so
// that one draw of many quads serves all slices.
//@ declarations

void main() {
    //@ no_numbers
    vec4 sum = vec4(0.0);
    //@ terms
    vec4 y = vec4(0.0);
    //@ numbers
    gl_FragColor = store(activation(y));
}
