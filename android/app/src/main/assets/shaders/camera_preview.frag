#version 100
// The camera's image on the full screen: upright, cropped to its middle, so that it is not distorted.
#extension GL_OES_EGL_image_external : require
precision highp float;   // half floats cannot distinguish a thousand pixels

uniform samplerExternalOES camera;
uniform mat4 transform;     // from the upright image (0 to 1, from its lower left corner) to the camera's texture
uniform vec2 shown;         // the share of the image that is on the screen, across and down
varying vec2 place;

void main() {
    vec2 there = 0.5 + (place - 0.5) * shown;
    gl_FragColor = vec4(texture2D(camera, (transform * vec4(there, 0.0, 1.0)).xy).rgb, 1.0);
}
