/* The texture unit: a fetch takes (s, t) and gives a word with red in its lowest byte [AG 39-48].
 *
 * Parameters, a word of the uniform stream for each coordinate written [AG 40-42]:
 *   0: base 31:12, cube map 9, flip 8, type 7:4, mip levels - 1 3:0
 *   1: type's bit 4 31, height 30:20, width 18:8 (0 = 2048), magnifying filter 7 (1 = nearest), minifying 6:4,
 *      wrap t 3:2, s 1:0
 */
#include "executor.h"

#include <math.h>
#include <string.h>

typedef double Doubles __attribute__((vector_size(128)));
typedef int64_t Longs __attribute__((vector_size(128)));

/* Types of texels [AG 41]. */
enum { RGBA8888, RGBX8888, RGBA4444, RGBA5551, RGB565, LUMINANCE, ALPHA, LUMINANCE_ALPHA, ETC1, RGBA_RASTER = 16 };
enum { REPEAT, CLAMP, MIRROR, BORDER };
enum { MINIFY_LINEAR, MINIFY_NEAREST };

/* Bytes of a texel as a power of two. */
static int log_bytes_of(uint32_t type)
{
    switch (type) {
    case RGBA8888: case RGBX8888: case RGBA_RASTER:
        return 2;
    case RGBA4444: case RGBA5551: case RGB565: case LUMINANCE_ALPHA:
        return 1;
    case LUMINANCE: case ALPHA:
        return 0;
    case ETC1:
        not_done("ETC1 textures", type);
    }
    not_done("texture type", type);
}

struct texture texture_of(struct buffer buffer, const uint32_t *words, const struct sample *sample)
{
    struct texture texture = { .buffer = buffer };
    if (sample->direct)
        return texture;
    if (sample->count > 2)
        not_done("texture with three coordinates, a bias or a level (cube map, texture2D with bias, texture2DLod)",
            sample->count);
    if (sample->count < 2)
        not_done("texture of one dimension", sample->count);
    uint32_t p0 = words[sample->word[0]], p1 = words[sample->word[1]];
    if (p0 >> 9 & 1)
        not_done("cube map", p0);
    if (p0 >> 8 & 1)
        not_done("flipped texture", p0);
    texture.base = p0 & ~0xfffu;
    texture.type = (p0 >> 4 & 15) | (p1 >> 31) << 4;
    texture.levels = (p0 & 15) + 1;
    texture.height = p1 >> 20 & 2047 ? p1 >> 20 & 2047 : 2048;
    texture.width = p1 >> 8 & 2047 ? p1 >> 8 & 2047 : 2048;
    texture.wrap_t = p1 >> 2 & 3;
    texture.wrap_s = p1 & 3;
    bool magnify_nearest = p1 >> 7 & 1;
    uint32_t minify = p1 >> 4 & 7;
    if (minify > MINIFY_NEAREST && texture.levels > 1)
        not_done("mipmaps", p1);
    bool minify_nearest = minify == MINIFY_NEAREST || minify == 2 || minify == 3; /* 2, 3: nearest of a level */
    if (magnify_nearest != minify_nearest)
        not_done("different filters for magnifying and minifying", p1);
    texture.linear = !minify_nearest;
    if (texture.wrap_s == BORDER || texture.wrap_t == BORDER)
        not_done("texture border", p1);
    int log_bytes = log_bytes_of(texture.type);
    enum tiling tiled = natural_tiling(texture.width, texture.height, log_bytes);
    enum tiling tiling = texture.type == RGBA_RASTER ? RASTER : tiled;
    texture.layout = layout_of(tiling, texture.width, log_bytes);
    return texture;
}

/* Texel number inside the picture. */
static int32_t wrapped(int32_t k, int32_t size, uint32_t mode)
{
    if (mode == CLAMP)
        return k < 0 ? 0 : k >= size ? size - 1 : k;
    int32_t period = mode == REPEAT ? size : 2 * size;
    k %= period;
    if (k < 0)
        k += period;
    return k < size ? k : period - 1 - k;
}

/* Four and five bits become eight by repeating the highest ones, as llvmpipe's do; [AG] does not say [?]. */
static uint32_t widened(uint32_t value, int bits)
{
    uint32_t high = value << (8 - bits);
    return high | high >> bits | (bits < 4 ? high >> 2 * bits : 0);
}

static uint32_t rgba(uint32_t r, uint32_t g, uint32_t b, uint32_t a) { return r | g << 8 | b << 16 | a << 24; }

/* A texel's bytes -> the word that a program gets. Red is in the highest bits of those of 16 bits [M, its swizzles];
 * of one and two bytes, alpha is the fourth byte of the word and luminance the others [AG 41; M]. */
static uint32_t as_word(uint32_t type, const uint8_t *texel)
{
    uint32_t word = 0;
    uint16_t half = 0;
    switch (type) {
    case RGBA8888: case RGBA_RASTER:
        memcpy(&word, texel, 4);
        return word;
    case RGBX8888:
        memcpy(&word, texel, 4);
        return word | 0xff000000u;
    case LUMINANCE:
        return rgba(texel[0], texel[0], texel[0], 255);
    case ALPHA:
        return rgba(0, 0, 0, texel[0]);
    case LUMINANCE_ALPHA:
        return rgba(texel[0], texel[0], texel[0], texel[1]);
    }
    memcpy(&half, texel, 2);
    if (type == RGB565)
        return rgba(widened(half >> 11, 5), widened(half >> 5 & 63, 6), widened(half & 31, 5), 255);
    if (type == RGBA5551)
        return rgba(widened(half >> 11, 5), widened(half >> 6 & 31, 5), widened(half >> 1 & 31, 5), half & 1 ? 255 : 0);
    return rgba((half >> 12) * 17, (half >> 8 & 15) * 17, (half >> 4 & 15) * 17, (half & 15) * 17);
}

/* Column and row of the nearest texel: floor(s * width), then the wrap mode. How many bits the hardware keeps of the
 * product is unknown [?]; here all of them. */
static void nearest(const Value *coordinate, uint32_t size, uint32_t mode, Value *place, int groups)
{
    for (int g = 0; g < groups; g++) {
        Doubles exact = __builtin_convertvector(coordinate->f[g], Doubles) * (double)size;
        Ints whole = __builtin_convertvector(exact, Ints);
        Longs above = __builtin_convertvector(whole, Doubles) > exact; /* truncated upwards: -1 */
        whole += __builtin_convertvector(above, Ints);
        Ints last = whole - whole + (int32_t)size - 1;
        Ints clamped = whole & (whole > 0); /* what lies outside the integers comes as the smallest one, and so as 0 */
        Ints beyond = clamped > last;
        place->i[g] = mode == CLAMP ? (clamped & ~beyond) | (last & beyond) : whole;
    }
    if (mode != CLAMP)
        for (int l = 0; l < groups * ELEMENTS; l++)
            place->integer[l] = wrapped(place->integer[l], (int32_t)size, mode);
}

static void gather(const struct texture *texture, const uint32_t *offset, uint32_t *word, int lanes)
{
    uint32_t limit = texture->buffer.size - texture->base, largest = 0, bytes = 1u << texture->layout.log_bytes;
    const uint8_t *base = texture->buffer.bytes + texture->base;
    for (int l = 0; l < lanes; l++)
        largest = offset[l] > largest ? offset[l] : largest;
    if (texture->base > texture->buffer.size || largest + bytes > limit)
        broken("a texel outside its buffer", largest);
    if (bytes != 4) {
        for (int l = 0; l < lanes; l++)
            word[l] = as_word(texture->type, base + offset[l]);
        return;
    }
    uint32_t set = texture->type == RGBX8888 ? 0xff000000u : 0;
    for (int l = 0; l < lanes; l++) {
        uint32_t texel;
        memcpy(&texel, base + offset[l], 4);
        word[l] = texel | set;
    }
}

/* Four texels, weighted with 8 bits of the place between them, and rounded to bytes. The bits are unknown [?]. */
static void fetch_linear(const struct texture *texture, const Value *s, const Value *t, Value *result, int groups,
    int tmu, struct missed *missed)
{
    Value x[2], y[2], offset, corner[4];
    uint32_t part_x[LANES], part_y[LANES];
    int lanes = groups * ELEMENTS;
    for (int l = 0; l < lanes; l++)
        for (int axis = 0; axis < 2; axis++) {
            int32_t size = (int32_t)(axis ? texture->height : texture->width);
            uint32_t mode = axis ? texture->wrap_t : texture->wrap_s;
            double at = (double)(axis ? t : s)->number[l] * size - 0.5;
            at = at > -1e6 && at < 1e6 ? at : 0.0;
            int32_t fixed = (int32_t)floor(at * 256.0 + 0.5), low = fixed >> 8;
            (axis ? part_y : part_x)[l] = (uint32_t)fixed & 255;
            for (int k = 0; k < 2; k++)
                (axis ? y : x)[k].integer[l] = wrapped(low + k, size, mode);
        }
    for (int k = 0; k < 4; k++) {
        offsets(&texture->layout, x[k & 1].integer, y[k >> 1].integer, offset.word, lanes);
        gather(texture, offset.word, corner[k].word, lanes);
        if (counting_caches)
            count_lines(texture->buffer.bytes + texture->base, offset.word, lanes, tmu, missed);
    }
    for (int l = 0; l < lanes; l++) {
        uint32_t word = 0, px = part_x[l], py = part_y[l];
        for (int shift = 0; shift < 32; shift += 8) {
            uint32_t top = (corner[0].word[l] >> shift & 255) * (256 - px) + (corner[1].word[l] >> shift & 255) * px;
            uint32_t low = (corner[2].word[l] >> shift & 255) * (256 - px) + (corner[3].word[l] >> shift & 255) * px;
            word |= (top * (256 - py) + low * py + 0x8000) >> 16 << shift;
        }
        result->word[l] = word;
    }
}

void fetch(const struct texture *texture, const Value *s, const Value *t, Value *result, int groups, int tmu,
    struct missed *missed)
{
    counters.texels += (uint64_t)groups * ELEMENTS;
    counters.texture_quads += (uint64_t)groups * ELEMENTS / 4;
    if (texture->linear) {
        fetch_linear(texture, s, t, result, groups, tmu, missed);
        return;
    }
    Value x, y, offset;
    nearest(s, texture->width, texture->wrap_s, &x, groups);
    nearest(t, texture->height, texture->wrap_t, &y, groups);
    offsets(&texture->layout, x.integer, y.integer, offset.word, groups * ELEMENTS);
    gather(texture, offset.word, result->word, groups * ELEMENTS);
    if (counting_caches)
        count_lines(texture->buffer.bytes + texture->base, offset.word, groups * ELEMENTS, tmu, missed);
}

/* A write to s alone reads words of memory; the compiler clamps their addresses, and the kernel's validator sees that
 * it does [K]. */
void fetch_words(const struct texture *texture, const Value *address, Value *result, int groups, int tmu,
    struct missed *missed)
{
    counters.texels += (uint64_t)groups * ELEMENTS;
    counters.texture_quads += (uint64_t)groups * ELEMENTS / 4;
    for (int l = 0; l < groups * ELEMENTS; l++) {
        uint32_t at = address->word[l] & ~3u;
        if ((uint64_t)at + 4 > texture->buffer.size)
            broken("a word outside its buffer", at);
        memcpy(&result->word[l], texture->buffer.bytes + at, 4);
    }
    if (counting_caches)
        count_lines(texture->buffer.bytes, address->word, groups * ELEMENTS, tmu, missed);
}
