// One slice of a convolution, as convolution.frag, with 16-bit weights in a texture. Each slice has its own rows, so
// that one draw of many quads computes all slices of a layer.
//
// A column of weights (four output channels, one input channel) is two texels: the high bytes in the upper half of the
// texture, the low bytes in the lower half. docs/reference/bundle-format.md describes the row.
//
// ROW        coordinate of the centre of the first texel in the fragment's upper row
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

// Factors of high and low bytes, 1 and 1/256, are uniforms on VideoCore IV. Its compiler computes a lane times a uniform
// directly before its products, in an accumulator. A lane alone stays in a register, and an addition to a sum in the same
// register file cannot share an instruction with a multiplication that reads it.
#ifdef LATE_FETCH
uniform vec2 byte_units;
#define HIGH(lane) ((lane) * byte_units.x)
#define LOW(lane) ((lane) * byte_units.y)
#define LOW_UNIT 65280.0
#define LOW_BYTE byte_units.y
#else
#define HIGH(lane) lane
#define LOW(lane) lane
#define LOW_UNIT 255.0
#define LOW_BYTE (1.0 / 256.0)
#endif

vec4 high, low;       // sums of products with the high bytes and with the low bytes of weights
vec4 weight;          // weights of a depthwise column
float column, row, lower;  // column of the next texel, row of the high bytes, row of the low bytes

// Add the next column of weights times a lane. The width of a texel is not a constant, because a compiler that knows all
// coordinates fetches all texels at once.
void add(float lane) {
    low += texture2D(weights, vec2(column, lower)) * LOW(lane);
    high += texture2D(weights, vec2(column, row)) * HIGH(lane);
    column += units[0].w;
}

// A high byte has an offset of 128. Subtract its products, the sum of a texel's lanes, between those of the texel, so
// that sums stay small.
void centre(float lanes) {
    high -= vec4(128.0 / 255.0 * lanes);
}

// Fetch the next column of weights, in units of a high byte. VideoCore IV takes fewer instructions if the texel follows.
void next() {
    weight = texture2D(weights, vec2(column, row)) - 128.0 / 255.0;
    weight += texture2D(weights, vec2(column, lower)) * LOW_BYTE;
    column += units[0].w;
}

// Add this column, each weight times its own lane.
void add(vec4 lanes) {
    high += weight * lanes;
}

// Return the next texel of high bytes; below() returns the low bytes below it.
vec4 upper() {
    return 255.0 * texture2D(weights, vec2(column, row));
}

vec4 below() {
    return 255.0 * texture2D(weights, vec2(column, lower));
}

// Return four values of 24 bits from the next two columns.
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
    sum += (65280.0 * high + LOW_UNIT * low) * (scale * units[0].x);
    //@ numbers
    gl_FragColor = store(activation(sum));
}
