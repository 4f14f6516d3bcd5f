// One slice whose lanes are taken from wherever they lie.
//@ declarations

void main() {
    vec4 t;
    vec4 y = vec4(0.0);
    //@ lanes
    gl_FragColor = whole(y);
}
