#version 100
// Draws a rectangle of a target, which the viewport chooses, for area_average.frag and enlarge.frag.

// A corner of the rectangle, from -1 to 1.
attribute vec2 position;

varying vec2 place; // in the rectangle, from 0 at its first pixel's near edge to 1 at its last one's far edge

void main() {
    place = position * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
