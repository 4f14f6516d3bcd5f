// The camera's picture as the network reads it: the part that its fit takes, upright, and each axis by the exact area
// average (or bilinear, where it grows); bundle-format.md, "Preprocessing". The app puts lines in front: #version
// 100, #define TAPS_X and TAPS_Y, the camera pixels in a row and in a column that a pixel of the network can touch (1
// for bilinear), and #define GREY where the network reads grey.
#extension GL_OES_EGL_image_external : require
precision highp float;

uniform highp samplerExternalOES camera;
uniform mat4 transform;     // from the upright picture, 0 to 1 with (0, 0) at the lower left, to the camera's texture
uniform vec2 upright;       // width and height of the upright picture, in pixels
uniform vec2 corner;        // top left pixel of the part that is taken
uniform vec2 side;          // width and height of that part, in pixels
uniform vec2 origin;        // texel of the target where it begins
uniform vec2 size;          // its width and height there, in texels
uniform vec2 ratio;         // side / size

// The camera at a point of the upright picture, in pixels from its top left corner.
vec3 at(vec2 point) {
    vec2 place = vec2(point.x / upright.x, 1.0 - point.y / upright.y);
    return texture2D(camera, (transform * vec4(place, 0.0, 1.0)).xy).rgb;
}

// Along one axis, where a tap of a pixel lies in the part, and how much of it the pixel covers.
vec2 covered(float tap, float pixel, float ratio, float side) {
    if (ratio <= 1.0) {
        return vec2(clamp((pixel + 0.5) * ratio, 0.5, side - 0.5), 1.0);
    }
    float low = pixel * ratio;
    float first = floor(low) + tap;
    return vec2(first + 0.5, max(min(low + ratio, first + 1.0) - max(low, first), 0.0));
}

void main() {
    vec2 pixel = floor(gl_FragCoord.xy - origin);
    vec3 colour = vec3(0.0);
    for (int j = 0; j < TAPS_Y; ++j) {
        vec2 y = covered(float(j), pixel.y, ratio.y, side.y);
        for (int i = 0; i < TAPS_X; ++i) {
            vec2 x = covered(float(i), pixel.x, ratio.x, side.x);
            colour += x.y * y.y * at(corner + vec2(x.x, y.x));
        }
    }
    colour /= max(ratio.x, 1.0) * max(ratio.y, 1.0);
    if (any(lessThan(pixel, vec2(0.0))) || any(greaterThanEqual(pixel, size))) {
        colour = vec3(0.0); // beside a letterbox
    }
#ifdef GREY
    colour = vec3(dot(colour, vec3(19595.0, 38470.0, 7471.0) / 65536.0), 0.0, 0.0);
#endif
    gl_FragColor = vec4(colour, 1.0);
}
