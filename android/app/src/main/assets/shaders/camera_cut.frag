// A rotated rectangle of the camera's image as the input of the next network, in one pass.
//
// Each pixel is the mean of TAPS x TAPS bilinear samples of its area in the image, at most a camera pixel apart. Beyond
// the image, its edge is repeated. The app prepends #version 100, #define TAPS, and #define GREY for grey networks.
#extension GL_OES_EGL_image_external : require
precision highp float;

uniform highp samplerExternalOES camera;
uniform mat4 transform;     // from the upright image (0 to 1, from its lower left corner) to the camera's texture
uniform vec2 upright;       // width and height of the upright image, in pixels
uniform vec2 origin;        // first texel of the rectangle in the render target
uniform vec2 first;         // pixel of the image at the rectangle's top left corner
uniform vec2 across;        // pixels of the image from a texel to its right neighbour
uniform vec2 down;          // pixels of the image from a texel to its lower neighbour

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
