// One slice whose lanes are copied from lanes of any slices: y[lane] = source[slice of lane][lane of slice].
//@ declarations

void main() {
    vec4 t;
    vec4 y = vec4(0.0);
    //@ lanes  Fetches slices to t and assigns their lanes to those of y.
    gl_FragColor = whole(y);
}
