/* The tile buffer: 64x64 pixels of 32 bits without multisampling. All tiles of a job lie side by side in one picture
 * here; what a job does not render keeps its bytes in memory, because only its tiles are stored [K]. */
#include "executor.h"

#include <string.h>

/* Bytes of a row of tiles are copied texel by texel: simple, and a hundredth of what the shaders take. */
static void each_pixel(const struct frame *frame, const struct layout *layout, uint32_t offset, struct buffer buffer,
    bool loading)
{
    int right = (frame->last_column + 1) * TILE, bottom = (frame->last_row + 1) * TILE;
    right = right < frame->width ? right : frame->width;
    bottom = bottom < frame->height ? bottom : frame->height;
    for (int y = frame->first_row * TILE; y < bottom; y++)
        for (int x = frame->first_column * TILE; x < right; x++) {
            uint64_t at = (uint64_t)offset + offset_of(layout, x, y);
            if (at + 4 > buffer.size)
                broken("a pixel outside its buffer", at);
            uint32_t *pixel = &frame->color[y * frame->pitch + x];
            if (loading)
                memcpy(pixel, buffer.bytes + at, 4);
            else
                memcpy(buffer.bytes + at, pixel, 4);
        }
}

/* Surfaces' numbers of memory formats are those of enum tiling: 0 raster, 1 T, 2 LT [M, v3d_packet_v21.xml]. */
static struct layout surface_layout(const struct frame *frame, uint32_t tiling)
{
    if (tiling > LT_TILES)
        not_done("memory format of a render target", tiling);
    return layout_of((enum tiling)tiling, (uint32_t)frame->width, 2);
}

/* At the start of a tile: the clear colour, one word for even and one for odd columns, or what is in memory [K]. */
void clear_or_load(struct frame *frame, bool clear, const uint32_t *color, const struct surface *read,
    struct buffer buffer)
{
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++)
            frame->color[y * frame->pitch + x] = clear ? color[x & 1] : 0;
    if (clear || !buffer.bytes)
        return;
    /* Load and store bits: what 2:0 (1 = colour), tiling 5:4, format 9:8 (0 = RGBA8888) [AG 73]. */
    if ((read->bits & 7) != 1 || (read->bits >> 8 & 3) != 0)
        not_done("load of another format than RGBA8888", read->bits);
    struct layout layout = surface_layout(frame, read->bits >> 4 & 3);
    each_pixel(frame, &layout, read->offset, buffer, true);
}

/* Rendering bits: format 3:2 (1 = RGBA8888), memory format 7:6, multisampling 0 and 1 [AG 72]. */
void store(const struct frame *frame, const struct surface *write, struct buffer buffer)
{
    if ((write->bits >> 2 & 3) != 1 || (write->bits & 3))
        not_done("render target of another format than RGBA8888 without multisampling", write->bits);
    struct layout layout = surface_layout(frame, write->bits >> 6 & 3);
    each_pixel(frame, &layout, write->offset, buffer, false);
}
