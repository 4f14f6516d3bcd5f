/* Vertices: their attributes come by the vertex memory, 16 at a time; the vertex program writes a place on the
 * screen, z, 1/w and the varyings [AG 57-64]. */
#include "executor.h"

#include <stdlib.h>
#include <string.h>

/* Rows of 16 words: a word of an attribute for each of 16 vertices. */
typedef uint32_t Rows[VPM_ROWS][ELEMENTS];

/* A shader record [AG 77]: flags, then 12 bytes for each program: u16 uniforms, u8 mask of its attributes, u8 bytes of
 * them, u32 code, u32 uniforms. The vertex program's begin at 12, the coordinate program's at 24. From 36 on, 8 bytes an
 * attribute: u32 offset in its buffer, u8 bytes - 1, stride, offset in the vertex memory for each of the two. */
static void load_attributes(const struct draw *draw, const uint32_t *indices, uint32_t count, bool coordinate, Rows in)
{
    uint8_t used = draw->record[coordinate ? 26 : 14];
    memset(in, 0, sizeof(Rows));
    for (uint32_t k = 0; k < draw->attributes; k++) {
        const uint8_t *attribute = draw->record + 36 + 8 * k;
        uint32_t offset, bytes = attribute[4] + 1u, stride = attribute[5], row = attribute[coordinate ? 7 : 6] / 4u;
        if (!(used >> k & 1))
            continue;
        memcpy(&offset, attribute, 4);
        struct buffer buffer = buffer_of(draw->fd, draw->handles[draw->record_handles[3 + k]]);
        for (uint32_t v = 0; v < count; v++) {
            uint64_t at = offset + (uint64_t)indices[v] * stride;
            if (at + bytes > buffer.size || row + (bytes + 3) / 4 > VPM_ROWS)
                broken("a vertex attribute outside its buffer", at);
            for (uint32_t q = 0; q < bytes; q += 4)
                memcpy(&in[row + q / 4][v], buffer.bytes + at + q, bytes - q < 4 ? bytes - q : 4);
        }
    }
}

static float as_float(uint32_t word)
{
    float number;
    memcpy(&number, &word, 4);
    return number;
}

/* Where the vertex lies, from the clip coordinates: what the clipper computes when the 16 bits of the vertex program
 * do not hold it. */
static int64_t from_clip(uint32_t clip, uint32_t w, float scale)
{
    return (int64_t)((double)as_float(clip) / (double)as_float(w) * (double)scale);
}

/* The coordinate program writes Xc, Yc, Zc, Wc; z beyond the near and far planes would be clipped, and w other than 1
 * is perspective. */
static void place(const struct draw *draw, struct vertex *vertex, const Rows clip, uint32_t v)
{
    float x = as_float(clip[0][v]), y = as_float(clip[1][v]), z = as_float(clip[2][v]), w = as_float(clip[3][v]);
    if (w != 1.0f)
        not_done("perspective: w is not 1", clip[3][v]);
    if (!(z >= -w && z <= w))
        not_done("clipping at the near or far plane", clip[2][v]);
    double far = 32767.0; /* of a signed number of 16 bits, in 1/16 pixel: 2048 pixels */
    if (x * draw->scale_x > far || x * draw->scale_x < -far)
        vertex->x = from_clip(clip[0][v], clip[3][v], draw->scale_x);
    if (y * draw->scale_y > far || y * draw->scale_y < -far)
        vertex->y = from_clip(clip[1][v], clip[3][v], draw->scale_y);
    vertex->x += draw->center_x;
    vertex->y += draw->center_y;
}

void shade_vertices(const struct draw *draw, const uint32_t *indices, uint32_t count, struct vertex *vertices)
{
    int varyings = draw->record[3];
    if (varyings > MOST_VARYINGS)
        not_done("more varyings than the vertex memory holds", (uint64_t)varyings);
    unsigned before = enter_rounding(switches.add);
    for (uint32_t at = 0; at < count; at += ELEMENTS) {
        uint32_t here = count - at < ELEMENTS ? count - at : ELEMENTS;
        Rows in, out, clip;
        memset(out, 0, sizeof out);
        memset(clip, 0, sizeof clip);
        load_attributes(draw, indices + at, here, false, in);
        struct outside outside = { .uniforms = draw->vertex_words, .textures = NULL, .vpm_in = in, .vpm_out = out };
        run_program(&draw->vertex, &outside, 1);
        load_attributes(draw, indices + at, here, true, in);
        outside.uniforms = draw->coordinate_words;
        outside.vpm_out = clip;
        run_program(&draw->coordinate, &outside, 1);
        for (uint32_t v = 0; v < here; v++) {
            struct vertex *vertex = &vertices[at + v];
            vertex->x = (int16_t)(out[0][v] & 0xffff);
            vertex->y = (int16_t)(out[0][v] >> 16);
            vertex->z = as_float(out[1][v]);
            vertex->inverse_w = as_float(out[2][v]);
            for (int k = 0; k < varyings; k++)
                vertex->varying[k] = as_float(out[3 + k][v]);
            place(draw, vertex, clip, v);
        }
    }
    leave_rounding(before);
}
