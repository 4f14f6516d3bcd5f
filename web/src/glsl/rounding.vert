#version 100
attribute vec2 position;
varying float x;
void main() {
    x = position.x * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
