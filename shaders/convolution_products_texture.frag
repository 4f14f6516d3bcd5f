// Partial sums of a wide convolution, as convolution_products.frag, but its weights lie in a texture, so that one draw
// of many quads serves all output slices. A row of texels is for two output channels: a texel has the high and the low
// byte of a weight of the one (.xy) and of the other (.zw). A row has the columns of weights, one of scales and two of
// biases, as those of convolution_texture.frag.
//
// ROW            coordinate of the first texel of the fragment's row, at its centre
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

vec4 sum;      // what high bytes (.xz) and low bytes (.yw) of the weights add up to
float total;   // less the lanes, whose weights are still to be lowered by the byte of 0
float column;  // where the next texel is in the row

// The high byte that stands for 0.
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

// Comes before the products of a texel, with the sum of its lanes. A high byte stands for itself less 128: that is
// taken off at the end, for else VideoCore IV's compiler runs out of registers.
void begin(float lanes) {
    total -= lanes;
}

// Adds the next column of weights, all times one lane.
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
