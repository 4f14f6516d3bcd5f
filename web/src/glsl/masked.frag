// A picture, and over it what a mask says, as shaders/masked.frag does it in Python's windows.
//
// LOOK   0: what it holds is tinted; 1: on a chessboard, which stands for nothing; 2: on the picture itself, blurred
precision highp float;
varying vec2 place;
uniform sampler2D source;
uniform sampler2D mask;
uniform vec4 seen;    // from a place of the picture to one of the mask: times .xy, plus .zw
uniform vec4 reach;   // of the part of the picture that the network saw: left, top, right, bottom
uniform vec2 edge;    // the numbers between which the edge is soft
uniform vec3 ink;
uniform vec2 radius;  // of the blur, in parts of the picture
uniform vec2 squares; // of the chessboard, across and down

void main() {
    vec3 colour = texture2D(source, place).rgb;
    float part = texture2D(mask, place * seen.xy + seen.zw).r;
    if (any(lessThan(place, reach.xy)) || any(greaterThan(place, reach.zw))) part = 0.0; // the network did not see it
    vec3 held = colour;
    vec3 behind = colour;
#if LOOK == 0
    held = mix(colour, ink, 0.5);
#elif LOOK == 1
    vec2 at = floor(place * squares);
    behind = vec3(mod(at.x + at.y, 2.0) < 0.5 ? 208.0 / 255.0 : 236.0 / 255.0);
#else
    behind = vec3(0.0);
    for (int j = -3; j <= 3; j++) {
        for (int i = -3; i <= 3; i++) behind += texture2D(source, place + radius * vec2(float(i), float(j)) / 3.0).rgb;
    }
    behind /= 49.0;
#endif
    gl_FragColor = vec4(mix(behind, held, smoothstep(edge.x, edge.y, part)), 1.0);
}
