// A picture, and over it what a mask says (tools/window/composite.py): the mask's numbers lie in a small texture, are
// read between their centres, and their edge is made smooth here.
//
// LOOK   0: what it holds is tinted; 1: on a ground of one colour; 2: on the picture itself, blurred
#ifndef LOOK
#define LOOK 2
#endif

varying vec2 coord;
uniform sampler2D picture;
uniform sampler2D mask;
uniform vec4 seen;   // from a place of the picture to one of the mask: times .xy, plus .zw
uniform vec4 reach;  // of the part of the picture that the network saw: left, top, right, bottom
uniform vec2 edge;   // the numbers between which the edge is soft
uniform vec4 ground; // a colour
uniform vec2 radius; // of the blur, in parts of the picture

vec3 behind(vec3 colour) {
#if LOOK == 0
    return colour;
#elif LOOK == 1
    return ground.rgb;
#else
    vec3 sum = vec3(0.0);
    for (int j = -3; j <= 3; ++j) {
        for (int i = -3; i <= 3; ++i) {
            sum += texture2D(picture, coord + radius * vec2(float(i), float(j)) / 3.0).rgb;
        }
    }
    return sum / 49.0;
#endif
}

void main() {
    vec3 colour = texture2D(picture, coord).rgb;
    float part = texture2D(mask, coord * seen.xy + seen.zw).r;
    if (any(lessThan(coord, reach.xy)) || any(greaterThan(coord, reach.zw))) {
        part = 0.0; // the network did not see it
    }
#if LOOK == 0
    vec3 held = mix(colour, ground.rgb, 0.5);
#else
    vec3 held = colour;
#endif
    gl_FragColor = vec4(mix(behind(colour), held, smoothstep(edge.x, edge.y, part)), 1.0);
}
