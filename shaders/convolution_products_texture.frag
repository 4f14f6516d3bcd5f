// Partial sums of a wide convolution, as convolution_products.frag, with weights in a texture, so that one draw of many
// quads computes all output slices.
//
// A row of texels belongs to two output channels. A texel has the high and the low byte of a weight of the first (.xy)
// and of the second channel (.zw). A row has the columns of weights, one of scales and two of biases.
//
// ROW        coordinate of the centre of the first texel in the fragment's row
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

vec4 sum;      // sums of products with the high bytes (.xz) and with the low bytes (.yw) of weights
float total;   // minus the sum of lanes, whose products with MIDDLE are still to be subtracted
float column;  // coordinate of the next texel in the row

// The high byte of a weight of 0.
const float MIDDLE = 128.0 / 255.0;

// WAIT(at) equals at, because no coordinate is negative and total is never positive, and VideoCore IV fetches there
// only after the previous texel (convolution.frag).
#ifdef LATE_FETCH
#define WAIT(at) max(at, total)
#else
#define WAIT(at) at
#endif

// Return the next texel. Its width is not a constant, because a compiler that knows all coordinates fetches all texels
// at once.
vec4 next(float row) {
    vec4 texel = texture2D(weights, vec2(column, row));
    column += units[0].w;
    return texel;
}

// Begin the products of a texel with the sum of its lanes. The offset of high bytes, 128, is subtracted at the end,
// because otherwise VideoCore IV's compiler runs out of registers.
void begin(float lanes) {
    total -= lanes;
}

// Add the next column of weights times one lane.
void add(float lane) {
    sum += next(WAIT(ROW.y)) * lane;
}

void main() {
    vec4 t;
    sum = vec4(0.0);
    total = 0.0;
    column = ROW.x;
#ifdef ROLLED_FETCHES
    //@ loop
#else
    //@ coordinates
    //@ taps
#endif
    vec2 y = 65280.0 * (sum.xz + MIDDLE * total) + 255.0 * sum.yw;
    vec4 scale = next(ROW.y);
    y *= (65280.0 * scale.xz + 255.0 * scale.yw) * units[0].x;
    vec4 bias = next(ROW.y);
    vec2 n = 16711680.0 * (bias.xz - MIDDLE) + 65280.0 * bias.yw;
    bias = next(ROW.y);
    y += (n + 255.0 * bias.xz) * units[0].y;
    gl_FragColor = encode(y);
}
