#version 100
precision highp float;
varying highp vec2 pixel;
uniform float level;
void main() { gl_FragColor = vec4((level + pixel.x) / 255.0); }
