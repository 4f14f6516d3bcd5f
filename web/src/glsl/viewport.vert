// Draw over the whole viewport. `pixel` is the position of the fragment, (0, 0) to `extent`.
#version 100
attribute vec2 position;
uniform vec2 extent;
varying highp vec2 pixel;
void main() {
    pixel = (position * 0.5 + 0.5) * extent;
    gl_Position = vec4(position, 0.0, 1.0);
}
