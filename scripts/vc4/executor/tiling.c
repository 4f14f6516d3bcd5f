/* Where a texel lies in memory [AG 105-107; M, vc4_tiling.c].
 *
 * Memory is made of microtiles of 64 bytes, texels in rows: 4x4 of 32 bits, 8x4 of 16, 8x8 of 8 (the height follows).
 * LT: microtiles in rows. T: 4 KiB tiles of 8x8 microtiles, each of four 1 KiB subtiles; the tiles go to the right in
 * even rows and back in odd ones, and the four subtiles of a tile go round in opposite senses. */
#include "executor.h"

struct layout layout_of(enum tiling tiling, uint32_t width, int log_bytes)
{
    static const uint8_t wide[] = { 3, 3, 2, 1 }, high[] = { 3, 2, 2, 2 };
    return (struct layout){ tiling, width, (uint8_t)log_bytes, wide[log_bytes], high[log_bytes] };
}

/* A level no wider or no higher than four microtiles is LT, else T [M: vc4_size_is_lt]. */
enum tiling natural_tiling(uint32_t width, uint32_t height, int log_bytes)
{
    struct layout layout = layout_of(LT_TILES, width, log_bytes);
    return width <= 4u << layout.log_tile_w || height <= 4u << layout.log_tile_h ? LT_TILES : T_TILES;
}

static uint32_t rounded_up(uint32_t value, int log_unit)
{
    uint32_t unit = 1u << log_unit;
    return (value + unit - 1) & ~(unit - 1);
}

/* What a level takes: whole microtiles (LT) or whole tiles (T) [M: vc4_setup_slices]. */
uint32_t padded_bytes(uint32_t width, uint32_t height, int log_bytes)
{
    int tile = natural_tiling(width, height, log_bytes) == T_TILES ? 3 : 0;
    struct layout layout = layout_of(LT_TILES, width, log_bytes);
    return (rounded_up(width, layout.log_tile_w + tile) * rounded_up(height, layout.log_tile_h + tile)) << log_bytes;
}

static inline uint32_t inside_microtile(const struct layout *l, uint32_t x, uint32_t y)
{
    uint32_t mask_x = (1u << l->log_tile_w) - 1, mask_y = (1u << l->log_tile_h) - 1;
    return (((y & mask_y) << l->log_tile_w) | (x & mask_x)) << l->log_bytes;
}

static inline uint32_t lt_offset(const struct layout *l, uint32_t x, uint32_t y)
{
    uint32_t a_row = (l->width + (1u << l->log_tile_w) - 1) >> l->log_tile_w;
    return ((y >> l->log_tile_h) * a_row + (x >> l->log_tile_w)) * 64 + inside_microtile(l, x, y);
}

static inline uint32_t t_offset(const struct layout *l, uint32_t x, uint32_t y)
{
    uint32_t ux = x >> l->log_tile_w, uy = y >> l->log_tile_h;  /* microtile */
    uint32_t tx = ux >> 3, ty = uy >> 3, odd = ty & 1;          /* tile */
    uint32_t a_row = (l->width + (8u << l->log_tile_w) - 1) >> (l->log_tile_w + 3);
    tx = odd ? a_row - 1 - tx : tx;
    uint32_t quarter = (uy >> 2 & 1) * 2 + (ux >> 2 & 1);
    uint32_t order = odd ? 0x36 : 0x9c;  /* two bits for each quarter: 2 1 3 0 in odd rows, 0 3 1 2 in even ones */
    uint32_t sub = order >> (2 * quarter) & 3;
    return (ty * a_row + tx) * 4096 + sub * 1024 + ((uy & 3) * 4 + (ux & 3)) * 64 + inside_microtile(l, x, y);
}

/* Rows of raster images are whole microtiles wide [M]. */
static inline uint32_t raster_offset(const struct layout *l, uint32_t x, uint32_t y)
{
    uint32_t stride = ((l->width + (1u << l->log_tile_w) - 1) >> l->log_tile_w << l->log_tile_w) << l->log_bytes;
    return y * stride + (x << l->log_bytes);
}

void offsets(const struct layout *layout, const int32_t *x, const int32_t *y, uint32_t *offset, int lanes)
{
    const struct layout l = *layout; /* a copy, so that the compiler knows that the loops do not change it */
    switch (l.tiling) {
    case T_TILES:
        for (int k = 0; k < lanes; k++)
            offset[k] = t_offset(&l, (uint32_t)x[k], (uint32_t)y[k]);
        break;
    case LT_TILES:
        for (int k = 0; k < lanes; k++)
            offset[k] = lt_offset(&l, (uint32_t)x[k], (uint32_t)y[k]);
        break;
    case RASTER:
        for (int k = 0; k < lanes; k++)
            offset[k] = raster_offset(&l, (uint32_t)x[k], (uint32_t)y[k]);
        break;
    }
}

uint32_t offset_of(const struct layout *layout, int32_t x, int32_t y)
{
    uint32_t offset;
    offsets(layout, &x, &y, &offset, 1);
    return offset;
}
