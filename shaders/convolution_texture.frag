// One slice of a convolution, as convolution.frag, but its weights lie in a texture with two rows for each slice, so
// that one draw of many quads serves all slices of a layer. A column of weights, four output channels of one input
// channel, is two texels: high bytes in the upper half of the texture, low bytes in the lower half.
// docs/bundle-format.md has all of a row.
//
// ROW            coordinate of the first texel of the fragment's upper row, at its centre
// RESIDUAL       a texel that is added
// FACTOR         the row ends in a factor for it
// HAS_LOOP       a device that defines ROLLED_FETCHES has a shorter shader with a loop, which compiles sooner and adds
//                up the same in the same order. Other layers have none.
#ifndef ROW
#define ROW vec2(0.0)
uniform sampler2D weights;
#endif

#ifndef HAS_LOOP
#undef ROLLED_FETCHES
#endif

//@ declarations

uniform vec4 units[1];

vec4 high, low;       // what high bytes and low bytes of the weights add up to
float column, row, lower;  // where the next texel of high bytes is in its row, that row, and that of the low ones

// Adds the next column of weights, each times its lane. The width of a texel is no constant: a compiler that knew all
// coordinates would fetch all texels at once.
void add(vec4 lanes) {
    high += texture2D(weights, vec2(column, row)) * lanes;
    low += texture2D(weights, vec2(column, lower)) * lanes;
    column += units[0].w;
}

// A high byte stands for itself less 128. Takes that off before the products of a texel, whose lanes are added up here:
// so sums stay small.
void begin(vec4 lanes) {
    high -= 128.0 / 255.0 * lanes;
}

// Returns the next texel of high bytes, or the low bytes below it.
vec4 upper() {
    return 255.0 * texture2D(weights, vec2(column, row));
}

vec4 below() {
    return 255.0 * texture2D(weights, vec2(column, lower));
}

// Returns numbers of 24 bits from the next two columns.
vec4 number() {
    vec4 sum = 65536.0 * (upper() - 128.0) + 256.0 * below();
    column += units[0].w;
    sum += upper();
    column += units[0].w;
    return sum;
}

void main() {
    //@ no_numbers
    vec4 t;
    high = vec4(0.0);
    low = vec4(0.0);
    column = ROW.x;
    row = ROW.y;
    lower = ROW.y + 0.5;
#ifdef ROLLED_FETCHES
    //@ loop
#else
    //@ coordinates
    //@ taps
#endif
    vec4 scale = 256.0 * upper() + below();
    column += units[0].w;
    vec4 sum = number() * units[0].y;
#ifdef RESIDUAL
#ifdef FACTOR
    sum += RESIDUAL * (number() * units[0].z);
#else
    sum += RESIDUAL;
#endif
#endif
    sum += (65280.0 * high + 255.0 * low) * (scale * units[0].x);
    //@ numbers
    gl_FragColor = store(activation(sum));
}
