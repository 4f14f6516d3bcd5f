#version 100
// Draw a rectangle of a render target, selected by the viewport, for area_average.frag, enlarge.frag and turned.frag.

// A corner of the rectangle, from -1 to 1.
attribute vec2 position;

varying vec2 place; // position in the rectangle, from 0 to 1 at its outer edges

void main() {
    place = position * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
