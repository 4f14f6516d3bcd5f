// An image with a mask over it (tools/window/composite.py). The mask is a small texture, interpolated linearly. Its
// edge is made smooth here.
//
// LOOK   0: the masked part is tinted; 1: it is on a plain background; 2: it is on the blurred image
#ifndef LOOK
#define LOOK 2
#endif

varying vec2 coord;
uniform sampler2D picture;
uniform sampler2D mask;
uniform vec4 seen;   // from image to mask coordinates: times .xy, plus .zw
uniform vec4 reach;  // edges of the network's input in the image: left, top, right, bottom
uniform vec2 edge;   // mask values between which the edge is smooth
uniform vec4 ground; // colour of the tint or of the background
uniform vec2 radius; // radius of the blur, as a share of the image

vec3 background(vec3 colour) {
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
    float share = texture2D(mask, coord * seen.xy + seen.zw).r;
    if (any(lessThan(coord, reach.xy)) || any(greaterThan(coord, reach.zw))) {
        share = 0.0; // outside the network's input
    }
#if LOOK == 0
    vec3 foreground = mix(colour, ground.rgb, 0.5);
#else
    vec3 foreground = colour;
#endif
    gl_FragColor = vec4(mix(background(colour), foreground, smoothstep(edge.x, edge.y, share)), 1.0);
}
