// Partial sums of two rows of a dense layer, as two values of 16 bits: the means of a block of channels times weights.
//
// A column of the weight texture has the constants of a block: three bytes of the factors of its channels, the highest
// first, and three bytes of their offsets. Four texels for each two outputs follow: the weights of the first output,
// two in a texel, and of the second.
//
// WIDTH, HEIGHT   iterations of the loops over the map: its columns or strips, and its rows
#ifndef WIDTH
#define WIDTH 1
#define HEIGHT 1
varying vec4 coord0;
uniform sampler2D source;
uniform sampler2D kernel;
uniform vec2 source_texel;
uniform vec2 kernel_texel;
#endif

//@ declarations

uniform vec2 units; // of factors and of offsets

vec4 constants(vec2 at) {
    vec4 number = vec4(-8388608.0);
    number += 65536.0 * floor(texture2D(kernel, at) * 255.0 + 0.5);
    number += 256.0 * floor(texture2D(kernel, at + vec2(0.0, 1.0) * kernel_texel) * 255.0 + 0.5);
    return number + floor(texture2D(kernel, at + vec2(0.0, 2.0) * kernel_texel) * 255.0 + 0.5);
}

float product(vec2 at, vec4 means) {
    vec2 low = decode(texture2D(kernel, at));
    vec2 high = decode(texture2D(kernel, at + vec2(0.0, 1.0) * kernel_texel));
    return dot(vec4(low, high), means);
}

void main() {
    vec4 sum = vec4(0.0);
    //@ place  In strips: the coordinate of the next texel.
    for (int y = 0; y < TURNS(HEIGHT); y++) {
        END_AFTER(HEIGHT, y)
        for (int x = 0; x < TURNS(WIDTH); x++) {
            END_AFTER(WIDTH, x)
            // The sum of integers is exact up to 65,793 pixels.
            //@ fetch  Declares t: a texel, or the sum of a strip of texels.
            sum += floor(t * 255.0 + 0.5);
        }
        //@ next  In strips: adds the remainder of the row and moves to the next row.
    }
    //@ all  Adds a last fetch outside the loops; joins both bytes of 16-bit maps.
    // The coordinates depend on the sum and on the means. Otherwise a compiler would fetch all texels first.
    vec2 first = max(vec2(coord0.z, 0.5 * kernel_texel.y), min(sum.x, 0.0));
    vec4 means = sum * (constants(first) * units.x) + constants(first + vec2(0.0, 3.0) * kernel_texel) * units.y;
    first = max(coord0.zw, min(abs(means.x), 0.0));
    gl_FragColor = encode(vec2(product(first, means), product(first + vec2(0.0, 2.0) * kernel_texel, means)));
}
