#version 100
// One triangle that covers the viewport; `place` is 0 to 1 over it, from the lower left corner.
attribute vec2 position;
varying vec2 place;

void main() {
    place = position * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
