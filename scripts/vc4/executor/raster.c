/* Triangles -> pixels. Fragment programs run on groups of four quads of 2x2 pixels, all of one primitive in one tile
 * [AG 14, 51]. */
#include "executor.h"

#include <string.h>

struct edge { int64_t x, y, dx, dy; bool on; };

/* The hardware's rule for pixel centres on an edge is not published [?]: here each belongs to one of two triangles
 * that share it. */
static bool inside(const struct edge *edges, int64_t x, int64_t y)
{
    for (int k = 0; k < 3; k++) {
        const struct edge *e = &edges[k];
        int64_t side = e->dx * (y - e->y) - e->dy * (x - e->x);
        if (side < 0 || (side == 0 && !e->on))
            return false;
    }
    return true;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void shade(const struct draw *draw, const struct triangle *triangle, struct batch *batch)
{
    struct outside outside = {
        .uniforms = draw->fragment_words, .textures = draw->textures, .triangle = triangle, .batch = batch,
        .frame = draw->frame, .varyings = draw->record[3],
    };
    run_program(&draw->fragment, &outside, batch->groups);
    counters.groups += (uint64_t)batch->groups;
    counters.batches++;
    next_slice();
}

/* Quads of the batch so far. */
struct filling { const struct draw *draw; const struct triangle *triangle; struct batch batch; int quads; };

static void flush(struct filling *f)
{
    if (!f->quads)
        return;
    f->batch.groups = f->quads / 4;
    shade(f->draw, f->triangle, &f->batch);
    f->quads = 0;
}

static void put_quad(struct filling *f, int x, int y, unsigned covered)
{
    for (int k = 0; k < 4; k++) {
        int lane = f->quads * 4 + k;
        f->batch.x.integer[lane] = x + (k & 1);
        f->batch.y.integer[lane] = y + (k >> 1);
        f->batch.covered.word[lane] = covered >> k & 1 ? ~0u : 0;
    }
    if (++f->quads == LANES / 4)
        flush(f);
}

/* At a tile's end a group of less than four quads is filled with helpers, which compute and write nothing. */
static void end_tile(struct filling *f)
{
    while (f->quads % 4)
        put_quad(f, f->batch.x.integer[f->quads * 4 - 4], f->batch.y.integer[f->quads * 4 - 4], 0);
}

/* Values at a pixel: start + slope_x (x - x0) + slope_y (y - y0); the slopes have 24 bits in the varyings' memory
 * [?]. */
static void interpolate(struct triangle *t, const struct vertex *const v[3], int varyings)
{
    double ax = t->x[1] - t->x[0], ay = t->y[1] - t->y[0], bx = t->x[2] - t->x[0], by = t->y[2] - t->y[0];
    double area = ax * by - ay * bx;
    for (int k = 0; k < varyings; k++) {
        double a = (double)v[1]->varying[k] - v[0]->varying[k], b = (double)v[2]->varying[k] - v[0]->varying[k];
        t->slope_x[k] = (float)((a * by - b * ay) / area);
        t->slope_y[k] = (float)((b * ax - a * bx) / area);
        t->start[k] = v[0]->varying[k];
    }
}

void draw_triangle(const struct draw *draw, const struct vertex *a, const struct vertex *b, const struct vertex *c)
{
    const struct vertex *v[3] = { a, b, c };
    int64_t area = (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
    if (!area)
        return;
    if (area < 0) {
        v[1] = c;
        v[2] = b;
    }
    if (a->inverse_w != 1.0f || b->inverse_w != 1.0f || c->inverse_w != 1.0f)
        not_done("perspective: 1/w is not 1", 0);
    struct edge edges[3];
    struct triangle triangle = { .w = 1.0f };
    int64_t left = v[0]->x, right = left, top = v[0]->y, bottom = top;
    for (int k = 0; k < 3; k++) {
        const struct vertex *from = v[k], *to = v[(k + 1) % 3];
        int64_t dx = to->x - from->x, dy = to->y - from->y;
        edges[k] = (struct edge){ from->x, from->y, dx, dy, dy < 0 || (dy == 0 && dx > 0) };
        triangle.x[k] = (double)from->x / 16.0;
        triangle.y[k] = (double)from->y / 16.0;
        left = least(left, from->x);
        right = most(right, from->x);
        top = least(top, from->y);
        bottom = most(bottom, from->y);
    }
    unsigned before = enter_rounding(switches.add);
    interpolate(&triangle, v, draw->record[3]);
    const struct frame *frame = draw->frame;
    int x0 = (int)most(left >> 4, draw->clip_left), x1 = (int)least((right + 15) >> 4, draw->clip_right);
    int y0 = (int)most(top >> 4, draw->clip_top), y1 = (int)least((bottom + 15) >> 4, draw->clip_bottom);
    x0 = (int)most(x0, frame->first_column * TILE);
    y0 = (int)most(y0, frame->first_row * TILE);
    x1 = (int)least(least(x1, (frame->last_column + 1) * TILE), frame->width);
    y1 = (int)least(least(y1, (frame->last_row + 1) * TILE), frame->height);
    counters.triangles++;
    static struct filling f; /* static for its size; one thread draws at a time (preload.c) */
    f.draw = draw;
    f.triangle = &triangle;
    f.quads = 0;
    for (int ty = y0 & ~(TILE - 1); ty < y1; ty += TILE)
        for (int tx = x0 & ~(TILE - 1); tx < x1; tx += TILE) {
            int quad_right = (int)least(tx + TILE, x1), quad_bottom = (int)least(ty + TILE, y1);
            for (int y = (int)most(ty, y0 & ~1); y < quad_bottom; y += 2)
                for (int x = (int)most(tx, x0 & ~1); x < quad_right; x += 2) {
                    unsigned covered = 0;
                    for (int k = 0; k < 4; k++) {
                        int px = x + (k & 1), py = y + (k >> 1);
                        if (px >= x0 && px < x1 && py >= y0 && py < y1 && inside(edges, px * 16 + 8, py * 16 + 8))
                            covered |= 1u << k;
                    }
                    if (!covered)
                        continue;
                    counters.quads++;
                    counters.pixels += (uint64_t)__builtin_popcount(covered);
                    put_quad(&f, x, y, covered);
                }
            end_tile(&f);
        }
    flush(&f);
    leave_rounding(before);
}
