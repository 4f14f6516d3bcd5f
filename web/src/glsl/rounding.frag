#version 100
precision highp float;
varying vec2 pixel;
uniform float level;
// max() keeps a linker from moving the sum into the vertex shader, where it would not round at each pixel.
void main() { gl_FragColor = vec4((level + max(pixel.x, 0.0)) / 255.0); }
