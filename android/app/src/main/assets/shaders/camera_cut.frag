// A turned rectangle of the camera's picture as the next network reads it, in one pass: each pixel is the mean of
// TAPS x TAPS places in the part of the picture that it covers, no farther apart than the camera's pixels are, each
// read bilinearly. Beyond the picture its edge goes on. The app puts lines in front: #version 100, #define TAPS, and
// #define GREY where the network reads grey.
#extension GL_OES_EGL_image_external : require
precision highp float;

uniform highp samplerExternalOES camera;
uniform mat4 transform;     // from the upright picture, 0 to 1 with (0, 0) at the lower left, to the camera's texture
uniform vec2 upright;       // width and height of the upright picture, in pixels
uniform vec2 origin;        // texel of the target where the cut begins
uniform vec2 first;         // pixel of the picture at its top left corner
uniform vec2 across;        // pixels of the picture from one texel to the next, to the right
uniform vec2 down;          // and downwards

void main() {
    vec2 texel = floor(gl_FragCoord.xy - origin);
    vec3 colour = vec3(0.0);
    for (int j = 0; j < TAPS; ++j) {
        for (int i = 0; i < TAPS; ++i) {
            vec2 place = texel + (vec2(float(i), float(j)) + 0.5) / float(TAPS);
            vec2 point = clamp(first + place.x * across + place.y * down, vec2(0.5), upright - 0.5);
            vec2 there = vec2(point.x / upright.x, 1.0 - point.y / upright.y);
            colour += texture2D(camera, (transform * vec4(there, 0.0, 1.0)).xy).rgb;
        }
    }
    colour /= float(TAPS * TAPS);
#ifdef GREY
    colour = vec3(dot(colour, vec3(19595.0, 38470.0, 7471.0) / 65536.0), 0.0, 0.0);
#endif
    gl_FragColor = vec4(colour, 1.0);
}
