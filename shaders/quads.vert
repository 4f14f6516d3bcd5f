// Passes the corners of the quads through: a position in clip space, and for every source the texture
// coordinate there, two sources to a vec4. The runner works both out (docs/bundle-format.md, "Quads").
#ifndef VARYINGS
#define VARYINGS 8
#endif

attribute vec2 position;

attribute vec4 corner0;
varying vec4 coord0;
#if VARYINGS > 1
attribute vec4 corner1;
varying vec4 coord1;
#endif
#if VARYINGS > 2
attribute vec4 corner2;
varying vec4 coord2;
#endif
#if VARYINGS > 3
attribute vec4 corner3;
varying vec4 coord3;
#endif
#if VARYINGS > 4
attribute vec4 corner4;
varying vec4 coord4;
#endif
#if VARYINGS > 5
attribute vec4 corner5;
varying vec4 coord5;
#endif
#if VARYINGS > 6
attribute vec4 corner6;
varying vec4 coord6;
#endif

void main() {
    gl_Position = vec4(position, 0.0, 1.0);
    coord0 = corner0;
#if VARYINGS > 1
    coord1 = corner1;
#endif
#if VARYINGS > 2
    coord2 = corner2;
#endif
#if VARYINGS > 3
    coord3 = corner3;
#endif
#if VARYINGS > 4
    coord4 = corner4;
#endif
#if VARYINGS > 5
    coord5 = corner5;
#endif
#if VARYINGS > 6
    coord6 = corner6;
#endif
}
