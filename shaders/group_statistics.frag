// The mean of the means of a group's channels, or the group's standard deviation. A texel has two channels.
//
// With m and s the channels' means and standard deviations, M the mean of m: the result is M, or
// sqrt(mean((m - M)^2 + s^2)).
//
// MEMBERS            channels of a group
// DEVIATIONS_SCALE   scale of the vector of s. If it is defined, the result is the standard deviation
#ifndef MEMBERS
#define MEMBERS 1
#define MEANS_SCALE 1.0
#define INVERSE_SCALE 1.0
varying vec4 coord0;
uniform sampler2D means;
uniform vec2 means_texel;
#endif

//@ declarations

// Return the value of a channel of a vector.
float number(sampler2D vector, vec2 texel, float channel) {
    float pair = floor(0.5 * channel + 0.1);
    vec2 both = decode(texture2D(vector, vec2((pair + 0.5) * texel.x, 0.5 * texel.y)));
    return channel - 2.0 * pair > 0.5 ? both.y : both.x;
}

void main() {
    vec2 channel = 2.0 * floor(coord0.x / means_texel.x) + vec2(0.0, 1.0);
    vec2 first = float(MEMBERS) * floor((channel + 0.5) / float(MEMBERS));
    vec2 mean = vec2(0.0);
    for (int k = 0; k < TURNS(MEMBERS); k++) {
        END_AFTER(MEMBERS, k)
        mean += vec2(
            number(means, means_texel, first.x + float(k)), number(means, means_texel, first.y + float(k)));
    }
    mean *= MEANS_SCALE / float(MEMBERS);
#ifdef DEVIATIONS_SCALE
    vec2 squares = vec2(0.0);
    for (int k = 0; k < TURNS(MEMBERS); k++) {
        END_AFTER(MEMBERS, k)
        vec2 channels = first + float(k);
        vec2 off = MEANS_SCALE * vec2(
            number(means, means_texel, channels.x), number(means, means_texel, channels.y)) - mean;
        vec2 own = DEVIATIONS_SCALE * vec2(
            number(deviations, deviations_texel, channels.x), number(deviations, deviations_texel, channels.y));
        squares += off * off + own * own;
    }
    squares *= 1.0 / float(MEMBERS);
    gl_FragColor = encode(INVERSE_SCALE * squares * inversesqrt(max(squares, 1e-12)));
#else
    gl_FragColor = encode(INVERSE_SCALE * mean);
#endif
}
