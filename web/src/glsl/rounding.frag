#version 100
precision highp float;
varying float x;
uniform float level;
void main() { gl_FragColor = vec4((level + x) / 255.0); }
