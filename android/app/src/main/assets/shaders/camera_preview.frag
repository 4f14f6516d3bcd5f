#version 100
// The camera's picture on the whole screen: upright, its middle cut out so that nothing is distorted.
#extension GL_OES_EGL_image_external : require
precision highp float;   // half floats cannot tell a thousand pixels apart

uniform samplerExternalOES camera;
uniform mat4 transform;     // from the upright picture, 0 to 1 with (0, 0) at the lower left, to the camera's texture
uniform vec2 shown;         // which part of it fits the screen, in both directions
varying vec2 place;

void main() {
    vec2 there = 0.5 + (place - 0.5) * shown;
    gl_FragColor = vec4(texture2D(camera, (transform * vec4(there, 0.0, 1.0)).xy).rgb, 1.0);
}
