#version 100
// Puts a picture into a rectangle of the window (tools/window/window.py). The engine's own passes use quads.vert.

// A corner of the picture, from (0, 0) at its first pixel to (1, 1).
attribute vec2 corner;

// The rectangle in clip space: xy is where the first pixel goes, zw points from there to the last. Row 0 of a texture
// is the top of the picture but y grows upwards in a window, so w is negative: the only flip there is.
uniform vec4 place;

varying vec2 coord;

void main() {
    gl_Position = vec4(place.xy + corner * place.zw, 0.0, 1.0);
    coord = corner;
}
