// Two channels of a convolution's slice, stored in 16 bits: as convolution_bytes.frag, but a row of the texture has the
// weights of two output channels. A texel has those of two columns, so that both halves of a slice together fetch as
// many as one draw of all four channels, and multiply as often. Rows of channels 2 and 3 are in the lower half of the
// texture; docs/graph-format.md has all of a row.
//
// LOW_BYTES      weights have 16 bits: a texel of low bytes follows each of high bytes
// ROW            coordinate of the first texel of the fragment's row, at its centre
// RESIDUAL       a texel that is added: the slice's four channels
// FACTOR         the row ends in a factor for it
// HAS_LOOP       see convolution_texture.frag
#ifndef ROW
#define ROW vec2(0.0)
uniform sampler2D weights;
#endif

#ifndef HAS_LOOP
#undef ROLLED_FETCHES
#endif

//@ declarations

uniform vec4 units[1];
#ifdef CUT_SUMS
uniform float cut_start; // see cut_sums.glsl
#endif

vec2 sum;      // less bytes times lanes, a byte from 0 to 1
#ifdef LOW_BYTES
vec2 low;      // the same of low bytes
#endif
float total;   // less the lanes whose weights are still to be lowered by that of 0
float column;  // where the next texel is in the row

// The byte that stands for 0.
const float MIDDLE = 128.0 / 255.0;

// A device may want fetches to depend on texels so far (convolution.frag). No coordinate is negative, and neither total
// nor a lane less than nothing ever positive. With low bytes nothing is added to total.
#ifdef LATE_FETCH
#ifdef LOW_BYTES
#define WAIT(at) max(at, -t.w)
#define AFTER(at, lane) max(at, -(lane))
#else
#define WAIT(at) max(at, total)
#define AFTER(at, lane) max(at, total)
#endif
#else
#define WAIT(at) at
#define AFTER(at, lane) at
#endif

// Takes off what a byte of 0 adds to products with a lane: before them, so that sums stay small, or at the end.
void centre(float lane) {
#ifdef LOW_BYTES
    sum += MIDDLE * lane;
#else
    total -= lane;
#endif
}

void centre(vec2 lanes) {
#ifdef LOW_BYTES
    sum += MIDDLE * (lanes.x + lanes.y);
#else
    total -= lanes.x;
    total -= lanes.y;
#endif
}

vec4 next(float row) {
    vec4 texel = texture2D(weights, vec2(column, row));
    column += units[0].w;
    return texel;
}

// Takes two columns of weights times their lanes off the sum. That of the byte of 0 is taken off later, at once.
void products(vec4 texel, vec2 lanes) {
    sum -= texel.xy * lanes.x;
    sum -= texel.zw * lanes.y;
#ifdef LOW_BYTES
    texel = next(ROW.y);
    low -= texel.xy * lanes.x;
    low -= texel.zw * lanes.y;
#endif
}

// The same of a texel's odd column, whose neighbour is empty.
void products(vec4 texel, float lane) {
    sum -= texel.xy * lane;
#ifdef LOW_BYTES
    low -= next(ROW.y).xy * lane;
#endif
}

// Adds the next columns, those of the first lanes of a texel.
void begin(vec2 lanes) {
    centre(lanes);
    products(next(AFTER(ROW.y, lanes.x)), lanes);
}

void begin(float lane) {
    centre(lane);
    products(next(AFTER(ROW.y, lane)), lane);
}

// The same for other lanes.
void add(vec2 lanes) {
    centre(lanes);
    products(next(ROW.y), lanes);
}

void add(float lane) {
    centre(lane);
    products(next(ROW.y), lane);
}

// The channels of a texel that the row is for.
vec2 own(vec4 texel) {
    return ROW.y > 0.5 ? texel.zw : texel.xy;
}

// A number of 24 bits for each of both channels, from two texels.
vec2 number(float row) {
    vec4 texel = next(row);
    vec2 n = (texel.xy - MIDDLE) * 65536.0;
    n += texel.zw * 256.0;
    return 255.0 * (n + next(row).xy);
}

void main() {
    //@ no_numbers
    vec4 t = vec4(0.0);
#ifdef CUT_SUMS
    sum = vec2(cut_start);
#else
    sum = vec2(0.0);
#endif
#ifdef LOW_BYTES
    low = vec2(0.0);
#endif
    total = 0.0;
    column = ROW.x;
#ifdef ROLLED_FETCHES
    //@ loop
#else
    //@ coordinates
    //@ taps
#endif
#ifdef LOW_BYTES
    sum += low * (1.0 / 256.0);
#endif
    // The bias has 24 bits, in units of the scale, which comes with its last byte.
    vec4 last = next(ROW.y);
    centre(65536.0 * units[0].y);
    sum -= last.xy * (65536.0 * units[0].y);
    sum -= last.zw * (256.0 * units[0].y);
    last = next(ROW.y);
    sum -= last.xy * units[0].y;
    vec2 pair = (sum - MIDDLE * total) * last.zw * (-65025.0 * units[0].x);
#ifdef RESIDUAL
#ifdef FACTOR
    pair += own(RESIDUAL) * number(ROW.y) * units[0].z;
#else
    pair += own(RESIDUAL);
#endif
#endif
    vec4 y = vec4(pair, pair);
    //@ numbers
    gl_FragColor = store(activation(y));
}
