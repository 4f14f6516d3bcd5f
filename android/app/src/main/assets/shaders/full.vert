#version 100
// One triangle that covers the viewport. `place` is its position there, (0, 0) to (1, 1) from the lower left corner.
attribute vec2 position;
varying vec2 place;

void main() {
    place = position * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
