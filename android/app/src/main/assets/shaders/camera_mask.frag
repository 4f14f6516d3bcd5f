#version 100
// The camera's image on the full screen, as camera_preview.frag. Pixels outside of the mask are blurred and darker.
#extension GL_OES_EGL_image_external : require
precision highp float;   // half floats cannot distinguish a thousand pixels

uniform samplerExternalOES camera;
uniform sampler2D mask;     // values from 0 to 1, top row first
uniform mat4 transform;     // from the upright image (0 to 1, from its lower left corner) to the camera's texture
uniform vec2 shown;         // the share of the image that is on the screen, across and down
uniform vec2 scale;         // from upright image to mask coordinates: times scale, plus offset
uniform vec2 offset;
uniform vec2 edge;          // mask values between which the edge is smooth
uniform vec2 radius;        // radius of the blur, as a share of the upright image
varying vec2 place;

vec3 at(vec2 there) {
    return texture2D(camera, (transform * vec4(clamp(there, 0.0, 1.0), 0.0, 1.0)).xy).rgb;
}

void main() {
    vec2 there = 0.5 + (place - 0.5) * shown;
    vec2 found = there * scale + offset;
    float part = texture2D(mask, found).r;
    if (any(lessThan(found, vec2(0.0))) || any(greaterThan(found, vec2(1.0)))) {
        part = 0.0; // outside the network's input
    }
    vec3 behind = vec3(0.0);
    for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
            behind += at(there + radius * vec2(float(i), float(j)) / 2.0);
        }
    }
    gl_FragColor = vec4(mix(behind * (0.7 / 25.0), at(there), smoothstep(edge.x, edge.y, part)), 1.0);
}
