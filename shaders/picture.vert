#version 100
// Place an image in a rectangle of the window (tools/window/window.py). The engine's passes use quads.vert.

// A corner of the image, from (0, 0) at its first pixel to (1, 1).
attribute vec2 corner;

// The rectangle in clip space: the position of the first pixel (.xy) and the vector from there to the last (.zw). Row 0
// of a texture is the top of the image but y points up in a window, so w is negative.
uniform vec4 place;

varying vec2 coord;

void main() {
    gl_Position = vec4(place.xy + corner * place.zw, 0.0, 1.0);
    coord = corner;
}
