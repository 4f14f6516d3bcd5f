// One slice of a convolution, as convolution_texture.frag, with 8-bit weights: a column of weights is one texel.
//
// A row has the columns of weights, three of biases, one of scales, and three of the residual's factors if it has some.
// docs/reference/bundle-format.md describes it.
//
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

vec4 sum;      // minus the sum of byte / 255 * lane
float total;   // minus the sum of the lanes whose products with MIDDLE are still to be subtracted
float column;  // coordinate of the next texel in the row
vec4 weight;   // weights of a depthwise column, from 0 to 1

// The byte of a weight of 0.
const float MIDDLE = 128.0 / 255.0;

// WAIT(at) equals at, because no coordinate is negative and total is never positive, and VideoCore IV fetches there
// only after the previous texel (convolution.frag).
//
// LANE(lane) equals lane too. The factor is a uniform for the same reason as in convolution_texture.frag.
#ifdef LATE_FETCH
uniform float one;
#define WAIT(at) max(at, total)
#define LANE(lane) ((lane) * one)
#else
#define WAIT(at) at
#define LANE(lane) lane
#endif

// Return the next texel. Its width is not a constant, because a compiler that knows all coordinates fetches all texels
// at once.
vec4 next(float row) {
    vec4 texel = texture2D(weights, vec2(column, row));
    column += units[0].w;
    return texel;
}

// Add the next column of weights times one lane, the first lane of a texel. MIDDLE is subtracted from all bytes
// together, at the end.
void begin(float lane) {
    sum -= next(WAIT(ROW.y)) * lane;
    total -= lane;
}

// The same for the texel's other lanes.
void add(float lane) {
    sum -= next(ROW.y) * LANE(lane);
    total -= lane;
}

// Add a depthwise column, each weight times its own lane. VideoCore IV takes fewer instructions if the column is fetched
// before the texel.
void add(vec4 lanes) {
    sum += (MIDDLE - weight) * lanes;
}

void main() {
    //@ no_numbers
    vec4 t;
#ifdef CUT_SUMS
    sum = vec4(cut_start);
#else
    sum = vec4(0.0);
#endif
    total = 0.0;
    column = ROW.x;
#ifdef ROLLED_FETCHES
    //@ loop
#else
    //@ coordinates
    //@ taps
#endif
    // The bias has 24 bits, in units of the scale.
    add(65536.0 * units[0].y);
    sum -= next(ROW.y) * (256.0 * units[0].y);
    sum -= next(ROW.y) * units[0].y;
    // Evaluated from left to right: if scale and unit are multiplied first, VideoCore IV's compiler runs out of
    // registers.
    vec4 y = (sum - MIDDLE * total) * next(ROW.y) * (-65025.0 * units[0].x);
#ifdef RESIDUAL
#ifdef FACTOR
    vec4 factor = (next(ROW.y) - MIDDLE) * 65536.0;
    factor += next(ROW.y) * 256.0;
    factor += next(ROW.y);
    y += RESIDUAL * factor * (255.0 * units[0].z);
#else
    y += RESIDUAL;
#endif
#endif
    //@ numbers
    gl_FragColor = store(activation(y));
}
