#version 100
// The camera's picture on the whole screen, as camera_preview.frag, and what a mask leaves out of it blurred and darker.
#extension GL_OES_EGL_image_external : require
precision highp float;   // half floats cannot tell a thousand pixels apart

uniform samplerExternalOES camera;
uniform sampler2D mask;     // its numbers, 0 to 1, top row first
uniform mat4 transform;     // from the upright picture, 0 to 1 with (0, 0) at the lower left, to the camera's texture
uniform vec2 shown;         // which part of it fits the screen, in both directions
uniform vec2 scale;         // from a place of the upright picture to one of the mask
uniform vec2 offset;
uniform vec2 edge;          // the numbers between which the edge is soft
uniform vec2 radius;        // of the blur, in parts of the upright picture
varying vec2 place;

vec3 at(vec2 there) {
    return texture2D(camera, (transform * vec4(clamp(there, 0.0, 1.0), 0.0, 1.0)).xy).rgb;
}

void main() {
    vec2 there = 0.5 + (place - 0.5) * shown;
    vec2 found = there * scale + offset;
    float part = texture2D(mask, found).r;
    if (any(lessThan(found, vec2(0.0))) || any(greaterThan(found, vec2(1.0)))) {
        part = 0.0; // the network did not see it
    }
    vec3 behind = vec3(0.0);
    for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
            behind += at(there + radius * vec2(float(i), float(j)) / 2.0);
        }
    }
    gl_FragColor = vec4(mix(behind * (0.7 / 25.0), at(there), smoothstep(edge.x, edge.y, part)), 1.0);
}
