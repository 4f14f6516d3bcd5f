// The camera's picture as the network reads it: its centred square, upright, by the exact area average (or bilinear,
// where the square is the smaller one); docs/bundle-format.md, steps 6 and 7. The app puts two lines in front:
// #version 100 and #define TAPS, the camera pixels (in a row) that a pixel of the network can touch; 0 for bilinear.
#extension GL_OES_EGL_image_external : require
precision highp float;

uniform highp samplerExternalOES camera;
uniform mat4 transform;     // from the upright picture, 0 to 1 with (0, 0) at the lower left, to the camera's texture
uniform vec2 upright;       // width and height of the upright picture, in pixels
uniform vec2 corner;        // top left pixel of its centred square
uniform vec2 origin;        // texel of the target where the network's picture begins
uniform float side;         // of the square, in pixels
uniform float ratio;        // side / size of the network's picture

// The camera at a point of the upright picture, in pixels from its top left corner.
vec3 at(vec2 point) {
    vec2 place = vec2(point.x / upright.x, 1.0 - point.y / upright.y);
    return texture2D(camera, (transform * vec4(place, 0.0, 1.0)).xy).rgb;
}

void main() {
    vec2 pixel = floor(gl_FragCoord.xy - origin);
#if TAPS == 0
    vec3 colour = at(corner + clamp((pixel + 0.5) * ratio, 0.5, side - 0.5));
#else
    vec2 low = pixel * ratio;
    vec2 high = low + ratio;
    vec2 first = floor(low);
    vec3 colour = vec3(0.0);
    for (int j = 0; j < TAPS; ++j) {
        for (int i = 0; i < TAPS; ++i) {
            vec2 tap = first + vec2(float(i), float(j));
            vec2 covered = max(min(high, tap + 1.0) - max(low, tap), 0.0);
            colour += covered.x * covered.y * at(corner + tap + 0.5);
        }
    }
    colour /= ratio * ratio;
#endif
    gl_FragColor = vec4(colour, 1.0);
}
