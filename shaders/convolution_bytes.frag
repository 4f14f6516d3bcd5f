// One slice of a convolution, as convolution_texture.frag, for weights of 8 bits: a column of weights is one texel. A
// row has the columns of weights, three of biases, one of scales, and three of the residual's factors if it has some;
// docs/bundle-format.md has all of it.
//
// ROW            coordinate of the first texel of the fragment's row, at its centre
// RESIDUAL       a texel that is added
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

vec4 sum;      // less bytes times lanes, a byte from 0 to 1
float total;   // less the lanes whose weights are still to be lowered by that of 0
float column;  // where the next texel is in the row

// The byte that stands for 0.
const float MIDDLE = 128.0 / 255.0;

// A device may want fetches to depend on texels so far (convolution.frag). No coordinate is negative, and total never
// positive.
#ifdef LATE_FETCH
#define WAIT(at) max(at, total)
#else
#define WAIT(at) at
#endif

// The width of a texel is no constant: a compiler that knew all coordinates would fetch all texels at once.
vec4 next(float row) {
    vec4 texel = texture2D(weights, vec2(column, row));
    column += units[0].w;
    return texel;
}

// Adds the next column of weights, all times one lane: the first of its texel. What is taken off bytes is taken off the
// sum, later and at once.
void begin(float lane) {
    total -= lane;
    sum -= next(WAIT(ROW.y)) * lane;
}

// The same for another lane.
void add(float lane) {
    total -= lane;
    sum -= next(ROW.y) * lane;
}

// Adds the next column of weights, each times its own lane. One component needs the lanes before the weights, so
// that VideoCore IV fetches both at a time; for all four that would take more operations.
void add(vec4 lanes) {
    sum.w += MIDDLE * lanes.w;
    vec4 texel = next(ROW.y);
    sum.w -= texel.w * lanes.w;
    sum.xyz += (MIDDLE - texel.xyz) * lanes.xyz;
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
    // From left to right: VideoCore IV's compiler runs out of registers where the scale meets its unit first.
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
