// The camera's image as the network's input: upright, cropped by the input's fit, each axis reduced by the exact area
// average or enlarged bilinearly (docs/reference/bundle-format.md, "Preprocessing").
//
// The app prepends #version 100 and these macros:
//
// TAPS_X, TAPS_Y   camera pixels in a row and in a column that an input pixel can cover (1 for bilinear)
// GREY             defined if the network reads grey
#extension GL_OES_EGL_image_external : require
precision highp float;

uniform highp samplerExternalOES camera;
uniform mat4 transform;     // from the upright image (0 to 1, from its lower left corner) to the camera's texture
uniform vec2 upright;       // width and height of the upright image, in pixels
uniform vec2 corner;        // top left pixel of the cropped part
uniform vec2 side;          // width and height of the cropped part, in pixels
uniform vec2 origin;        // first texel of that part in the render target
uniform vec2 size;          // width and height of that part there, in texels
uniform vec2 ratio;         // side / size

// Return the camera's colour at a point of the upright image, in pixels from its top left corner.
vec3 at(vec2 point) {
    vec2 place = vec2(point.x / upright.x, 1.0 - point.y / upright.y);
    return texture2D(camera, (transform * vec4(place, 0.0, 1.0)).xy).rgb;
}

// Return, for one axis, the position of a pixel's tap in the cropped part and the share of it that the pixel covers.
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
        colour = vec3(0.0); // outside a letterboxed image
    }
#ifdef GREY
    colour = vec3(dot(colour, vec3(19595.0, 38470.0, 7471.0) / 65536.0), 0.0, 0.0);
#endif
    gl_FragColor = vec4(colour, 1.0);
}
