// Scales a picture along one axis; the prelude and two #define lines go before it (src/preprocess.ts).
varying highp vec2 pixel;
uniform sampler2D source;
uniform vec2 texel;  // 1 / size of the source's texture
uniform vec2 origin; // the first texel of the square in it
uniform vec2 axis;   // along which to scale
uniform float side;  // texels there
uniform float size;  // pixels here

vec3 over_white(vec4 color) {
    return floor((color.rgb * color.a + (1.0 - color.a)) * 255.0 + 0.5) / 255.0;
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
    vec3 sum = vec3(0.0);
    float weights = 0.0;
    for (int tap = 0; tap < TAPS; tap++) {
        float at = first + float(tap);
#ifdef ENLARGE
        float weight = at < 0.0 || at >= side ? 0.0 : max(0.0, 1.0 - abs(at + 0.5 - center));
#else
        float weight = max(0.0, min(end, at + 1.0) - max(begin, at));
#endif
        sum += weight * over_white(texture2D(source, (line + at * axis) * texel));
        weights += weight;
    }
    gl_FragColor = vec4(floor(sum / weights * 255.0 + 0.5) / 255.0, 1.0);
}
