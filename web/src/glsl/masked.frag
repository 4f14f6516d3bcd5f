// An image with a mask over it, as shaders/masked.frag of Python's windows.
//
// LOOK   0: the masked part is tinted; 1: it is on a chessboard; 2: it is on the blurred image
precision highp float;
varying vec2 place;
uniform sampler2D source;
uniform sampler2D mask;
uniform vec4 seen;    // from image to mask coordinates: times .xy, plus .zw
uniform vec4 reach;   // edges of the network's input in the image: left, top, right, bottom
uniform vec2 edge;    // mask values between which the edge is smooth
uniform vec3 ink;
uniform vec2 radius;  // radius of the blur, as a share of the image
uniform vec2 squares; // squares of the chessboard, across and down

void main() {
    vec3 colour = texture2D(source, place).rgb;
    float share = texture2D(mask, place * seen.xy + seen.zw).r;
    if (any(lessThan(place, reach.xy)) || any(greaterThan(place, reach.zw))) share = 0.0; // outside the network's input
    vec3 foreground = colour;
    vec3 background = colour;
#if LOOK == 0
    foreground = mix(colour, ink, 0.5);
#elif LOOK == 1
    vec2 at = floor(place * squares);
    background = vec3(mod(at.x + at.y, 2.0) < 0.5 ? 208.0 / 255.0 : 236.0 / 255.0);
#else
    background = vec3(0.0);
    for (int j = -3; j <= 3; j++) {
        for (int i = -3; i <= 3; i++) background += texture2D(source, place + radius * vec2(float(i), float(j)) / 3.0).rgb;
    }
    background /= 49.0;
#endif
    gl_FragColor = vec4(mix(background, foreground, smoothstep(edge.x, edge.y, share)), 1.0);
}
