// Two channels of a convolution's slice, stored in 16 bits, as convolution_bytes.frag.
//
// A texel has the weights of two output channels for two input channels. Both halves of a slice together then take as
// many fetches and products as one draw of four channels. The rows of channels 2 and 3 are in the lower half of the
// texture. docs/reference/bundle-format.md describes the row.
//
// LOW_BYTES  weights have 16 bits: each texel of high bytes is followed by one of low bytes
// ROW        coordinate of the centre of the first texel in the fragment's row
// RESIDUAL   texel of the residual
// FACTOR     the row ends with a factor of the residual
// HAS_LOOP   the generated lines include a loop for devices that define ROLLED_FETCHES. It has the same sums in the
//            same order, and compiles faster
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
uniform float cut_start; // start of the sum, see cut_sums.glsl
#endif

vec2 sum;      // minus the sum of byte / 255 * lane
#ifdef LOW_BYTES
vec2 low;      // the same for low bytes
#endif
float total;   // minus the sum of the lanes whose products with MIDDLE are still to be subtracted
float column;  // coordinate of the next texel in the row

// The byte of a weight of 0.
const float MIDDLE = 128.0 / 255.0;

// WAIT(at) and AFTER(at, lane) equal at, because coordinates and lanes are not negative and total is not positive.
// VideoCore IV fetches there only after the previous texel (convolution.frag). With low bytes, total does not change.
//
// HIGH(lane) equals lane. The factor is a uniform for the same reason as in convolution_texture.frag.
#define HIGH(lane) lane
#ifdef LATE_FETCH
#ifdef LOW_BYTES
uniform float one;
#undef HIGH
#define HIGH(lane) ((lane) * one)
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

// Subtract the products of MIDDLE with lanes: after the products of weights, so that sums stay small, or at the end.
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

// Return the next texel.
vec4 next(float row) {
    vec4 texel = texture2D(weights, vec2(column, row));
    column += units[0].w;
    return texel;
}

// Subtract two columns of weights times their lanes.
void products(vec4 texel, vec2 lanes) {
    sum -= texel.xy * HIGH(lanes.x);
    sum -= texel.zw * HIGH(lanes.y);
#ifdef LOW_BYTES
    texel = next(ROW.y);
    low -= texel.xy * lanes.x;
    low -= texel.zw * lanes.y;
#endif
}

// The same for a texel with one column.
void products(vec4 texel, float lane) {
    sum -= texel.xy * HIGH(lane);
#ifdef LOW_BYTES
    low -= next(ROW.y).xy * lane;
#endif
}

// Add the next columns, for the first lanes of a texel.
void begin(vec2 lanes) {
    products(next(AFTER(ROW.y, lanes.x)), lanes);
    centre(lanes);
}

void begin(float lane) {
    products(next(AFTER(ROW.y, lane)), lane);
    centre(lane);
}

// The same for the texel's other lanes.
void add(vec2 lanes) {
    products(next(ROW.y), lanes);
    centre(lanes);
}

void add(float lane) {
    products(next(ROW.y), lane);
    centre(lane);
}

// Return the row's two channels of a texel.
vec2 own(vec4 texel) {
    return ROW.y > 0.5 ? texel.zw : texel.xy;
}

// Return a value of 24 bits for each of the two channels, from the next two texels.
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
    // The bias has 24 bits, in units of the scale. A texel has the bias's last byte and the scale.
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
