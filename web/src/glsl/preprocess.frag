// One axis of an image scaled by the exact area average, or enlarged bilinearly. src/preprocess.ts prepends the prelude
// and the macros CHANNELS, TAPS and ENLARGE.
varying highp vec2 pixel;
uniform sampler2D source;
uniform vec2 texel;  // 1 / size of the source's texture
uniform vec2 origin; // first texel of the source rectangle
uniform vec2 axis;   // (1, 0) or (0, 1)
uniform float side;  // texels of the source rectangle along the axis
uniform float size;  // pixels of the result along the axis
uniform vec3 keep;   // 0 for channels that the network's input does not have, otherwise 1

// Return the colour of a source texel with the channels of the network's input.
vec4 color(vec4 rgba) {
#if CHANNELS == 4
    return rgba;
#else
    vec3 bytes = floor((rgba.rgb * rgba.a + (1.0 - rgba.a)) * 255.0 + 0.5); // over white
#if CHANNELS == 1
    bytes = vec3(floor((dot(bytes, vec3(19595.0, 38470.0, 7471.0)) + 32768.0) / 65536.0));
#endif
    return vec4(bytes / 255.0, 1.0);
#endif
}

void main() {
    vec2 place = floor(pixel);
    float index = dot(place, axis);
    vec2 line = origin + place * (1.0 - axis) + 0.5;
#ifdef ENLARGE
    float center = (index + 0.5) * side / size;
    float first = floor(center - 0.5);
#else
    float begin = index * side / size;
    float end = (index + 1.0) * side / size;
    float first = floor(begin);
#endif
    vec4 sum = vec4(0.0);
    float weights = 0.0;
    for (int tap = 0; tap < TAPS; tap++) {
        float at = first + float(tap);
#ifdef ENLARGE
        float weight = at < 0.0 || at >= side ? 0.0 : max(0.0, 1.0 - abs(at + 0.5 - center));
#else
        float weight = max(0.0, min(end, at + 1.0) - max(begin, at));
#endif
        sum += weight * color(texture2D(source, (line + at * axis) * texel));
        weights += weight;
    }
    gl_FragColor = floor(sum / weights * 255.0 + 0.5) / 255.0 * vec4(keep, 1.0);
}
