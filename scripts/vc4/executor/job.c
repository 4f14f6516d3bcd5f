/* A job as the kernel gets it [K: struct drm_vc4_submit_cl]: a binner list of packets, shader records and uniform
 * streams, none of them relocated: addresses are offsets, and buffers are places in a list of handles. So this does
 * what the kernel's validator and the hardware's front end do, and never sees an address. */
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct submit {
    uint64_t bin_list, shader_records, uniforms, handles;
    uint32_t bin_bytes, shader_record_bytes, shader_records_count, uniform_bytes, handle_count;
    uint16_t width, height;
    uint8_t first_column, first_row, last_column, last_row;
    struct surface color_read, color_write, depth_read, depth_write, samples_color, samples_depth;
    uint32_t clear_color[2], clear_depth;
    uint8_t clear_stencil, pad[3];
    uint32_t flags;
    uint64_t number;
    uint32_t monitor; /* of perfmon.c; 0: none */
};
#define USE_CLEAR_COLOR 1u
#define NONE 0xffffffffu

/* Packets of a binner list, and how long they are [AG 66-75; M]. */
enum packet {
    HALT, NOP, FLUSH = 4, FLUSH_ALL, START_BINNING, INCREMENT_SEMAPHORE, WAIT_SEMAPHORE, INDEXED_PRIMITIVES = 32,
    PRIMITIVES = 33, LIST_FORMAT = 56, SHADER_STATE = 64, CONFIGURATION = 96, FLAT_SHADE, POINT_SIZE, LINE_WIDTH,
    DEPTH_OFFSET = 101, CLIP_WINDOW, VIEWPORT, XY_SCALE = 105, Z_SCALE, BINNING_MODE = 112, BUFFERS = 254
};
enum { POINTS, LINES, LINE_LOOP, LINE_STRIP, TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN };

/* Where we are in the lists of a job. */
struct cursor { const uint8_t *record; const uint32_t *word; uint32_t buffers[2]; };

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, 4);
    return word;
}

static int16_t half_at(const uint8_t *bytes)
{
    int16_t half;
    memcpy(&half, bytes, 2);
    return half;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void forget_shaders(struct draw *draw)
{
    free_program(&draw->fragment);
    free_program(&draw->vertex);
    free_program(&draw->coordinate);
    free(draw->textures);
    draw->textures = NULL;
}

static struct program program_of(const struct draw *draw, int which)
{
    return decode(buffer_of(draw->fd, draw->handles[draw->record_handles[which]]));
}

/* Whether a fragment program looks at what is in B15 at its start: the fragment's depth [AG 51]. */
static bool reads_depth(const struct program *program)
{
    for (int k = 0; k < program->length; k++) {
        if (program->code[k].reads[1] >> 15 & 1)
            return true;
        if (program->code[k].writes[1] >> 15 & 1)
            return false;
    }
    return false;
}

/* In the stream lie for each of the three programs: a buffer's index for each sample, in the order of the code, then
 * its words. */
static const uint32_t *words_of(const struct program *program, struct cursor *at)
{
    const uint32_t *words = at->word + program->samples;
    at->word = words + program->words;
    return words;
}

/* The next shader record: indices of the buffers with the three programs and with each attribute, then the record
 * [K]. */
static void use_shaders(struct draw *draw, struct cursor *at, uint32_t packet)
{
    forget_shaders(draw);
    if (packet & 8)
        not_done("extended shader record", packet);
    draw->attributes = packet & 7 ? packet & 7 : 8;
    draw->record_handles = (const uint32_t *)at->record;
    draw->record = at->record + 4 * (3 + draw->attributes);
    at->record = draw->record + 36 + 8 * draw->attributes;
    draw->fragment = program_of(draw, 0);
    if (reads_depth(&draw->fragment))
        not_done("the depth of a fragment (gl_FragCoord.z)", packet);
    draw->vertex = program_of(draw, 1);
    draw->coordinate = program_of(draw, 2);
    if (draw->vertex.samples || draw->coordinate.samples)
        not_done("texture fetches of vertices", packet);
    const uint32_t *indices = at->word;
    draw->fragment_words = words_of(&draw->fragment, at);
    draw->vertex_words = words_of(&draw->vertex, at);
    draw->coordinate_words = words_of(&draw->coordinate, at);
    draw->textures = calloc((size_t)draw->fragment.samples + 1, sizeof *draw->textures);
    for (int k = 0; k < draw->fragment.samples; k++) {
        const struct sample *sample = &draw->fragment.sample[k];
        struct buffer buffer = buffer_of(draw->fd, draw->handles[indices[k]]);
        draw->textures[k] = texture_of(buffer, draw->fragment_words, sample);
    }
    counters.code_bytes += 8u * (uint64_t)draw->fragment.length;
    bool one_thread = draw->record[0] & 1;
    if (one_thread == draw->fragment.two_threads)
        broken("the shader record has another number of threads than the program", packet);
}

/* Configuration bits [AG 70]: front 0, back 1, clockwise 2, points and lines 5:3, oversampling 7:6, blending 8, depth
 * test 14:12, depth update 15, early depth test 16 and update 17. */
static void check_configuration(const struct draw *draw)
{
    uint32_t bits = draw->configuration[0] | draw->configuration[1] << 8 | draw->configuration[2] << 16;
    if ((bits & 3) != 3)
        not_done("culling of front or back sides", bits);
    if (bits & 0xc0)
        not_done("multisampling", bits);
    if ((bits >> 12 & 7) != 7 || bits >> 15 & 1)
        not_done("depth test", bits);
}

static void draw_list(struct draw *draw, int mode, const uint32_t *indices, uint32_t count)
{
    check_configuration(draw);
    if (mode < TRIANGLES || mode > TRIANGLE_FAN)
        not_done("points and lines", (uint64_t)mode);
    struct vertex *v = calloc(count + ELEMENTS, sizeof *v);
    shade_vertices(draw, indices, count, v);
    for (uint32_t k = 0; k + 2 < count; k += mode == TRIANGLES ? 3 : 1) {
        const struct vertex *first = mode == TRIANGLE_FAN ? v : &v[k];
        if (mode == TRIANGLE_STRIP && k & 1)
            draw_triangle(draw, &v[k + 1], &v[k], &v[k + 2]);
        else
            draw_triangle(draw, first, &v[k + 1], &v[k + 2]);
    }
    free(v);
    counters.draws++;
}

/* Arguments: mode, count, first vertex. */
static void draw_arrays(struct draw *draw, const uint8_t *packet)
{
    uint32_t count = word_at(packet + 1), first = word_at(packet + 5), *indices = calloc(count + 1, sizeof *indices);
    for (uint32_t k = 0; k < count; k++)
        indices[k] = first + k;
    draw_list(draw, packet[0] & 15, indices, count);
    free(indices);
}

/* Arguments: mode 3:0 and index type 7:4 (0: 8 bits, 1: 16), count, offset in the buffer of BUFFERS, largest index. */
static void draw_indexed(struct draw *draw, const uint8_t *packet, uint32_t buffer_index)
{
    uint32_t count = word_at(packet + 1), offset = word_at(packet + 5), size = packet[0] >> 4 ? 2 : 1;
    struct buffer buffer = buffer_of(draw->fd, draw->handles[buffer_index]);
    if ((uint64_t)offset + (uint64_t)count * size > buffer.size)
        broken("indices outside their buffer", offset);
    uint32_t *indices = calloc(count + 1, sizeof *indices);
    for (uint32_t k = 0; k < count; k++)
        memcpy(&indices[k], buffer.bytes + offset + k * size, size);
    draw_list(draw, packet[0] & 15, indices, count);
    free(indices);
}

/* Run one packet; return its length. */
static uint32_t run_packet(struct draw *draw, struct cursor *at, const uint8_t *packet)
{
    const uint8_t *arguments = packet + 1;
    switch (packet[0]) {
    case NOP: case FLUSH: case FLUSH_ALL: case START_BINNING: case INCREMENT_SEMAPHORE:
        return 1;
    case INDEXED_PRIMITIVES:
        draw_indexed(draw, arguments, at->buffers[0]);
        return 14;
    case PRIMITIVES:
        draw_arrays(draw, arguments);
        return 10;
    case LIST_FORMAT:
        return 2;
    case SHADER_STATE:
        use_shaders(draw, at, word_at(arguments));
        return 5;
    case CONFIGURATION:
        memcpy(draw->configuration, arguments, sizeof draw->configuration);
        return 4;
    case FLAT_SHADE:
        if (word_at(arguments))
            not_done("flat shading", word_at(arguments));
        return 5;
    case POINT_SIZE: case LINE_WIDTH: case DEPTH_OFFSET:
        return 5;
    case CLIP_WINDOW: /* left, bottom, width, height; rows count as those of the target do */
        draw->clip_left = (uint16_t)half_at(arguments);
        draw->clip_top = (uint16_t)half_at(arguments + 2);
        draw->clip_right = draw->clip_left + (uint16_t)half_at(arguments + 4);
        draw->clip_bottom = draw->clip_top + (uint16_t)half_at(arguments + 6);
        return 9;
    case VIEWPORT:
        draw->center_x = half_at(arguments);
        draw->center_y = half_at(arguments + 2);
        return 5;
    case XY_SCALE:
        memcpy(&draw->scale_x, arguments, 4);
        memcpy(&draw->scale_y, arguments + 4, 4);
        return 9;
    case Z_SCALE:
        return 9;
    case BINNING_MODE:
        return 16;
    case BUFFERS:
        at->buffers[0] = word_at(arguments);
        at->buffers[1] = word_at(arguments + 4);
        return 9;
    }
    not_done("packet of a control list", packet[0]);
}

static struct buffer surface_buffer(int fd, const struct submit *job, const struct surface *surface)
{
    const uint32_t *handles = (const uint32_t *)(uintptr_t)job->handles;
    return surface->index == NONE ? (struct buffer){ NULL, 0 } : buffer_of(fd, handles[surface->index]);
}

void run_job(int fd, const struct submit *job)
{
    double began = seconds_now();
    struct counters before = counters;
    if (job->depth_read.index != NONE || job->depth_write.index != NONE)
        not_done("depth and stencil buffers", job->depth_write.index);
    if (job->samples_color.index != NONE || job->samples_depth.index != NONE)
        not_done("multisampling", job->samples_color.index);
    int columns = (job->width + TILE - 1) / TILE, rows = (job->height + TILE - 1) / TILE;
    struct frame frame = {
        .width = job->width, .height = job->height, .pitch = columns * TILE, .first_column = job->first_column,
        .last_column = job->last_column, .first_row = job->first_row, .last_row = job->last_row,
        .color = malloc(4u * TILE * TILE * (size_t)columns * (size_t)rows),
    };
    bool clears = job->flags & USE_CLEAR_COLOR;
    struct buffer source = surface_buffer(fd, job, &job->color_read);
    struct buffer target = surface_buffer(fd, job, &job->color_write);
    clear_or_load(&frame, clears, job->clear_color, &job->color_read, source);
    struct draw draw = {
        .fd = fd, .handles = (const uint32_t *)(uintptr_t)job->handles, .clip_right = job->width,
        .clip_bottom = job->height,
        .frame = &frame,
    };
    struct cursor at = {
        (const uint8_t *)(uintptr_t)job->shader_records, (const uint32_t *)(uintptr_t)job->uniforms, { 0 },
    };
    const uint8_t *list = (const uint8_t *)(uintptr_t)job->bin_list;
    for (uint32_t place = 0; place < job->bin_bytes;)
        place += run_packet(&draw, &at, list + place);
    if (target.bytes)
        store(&frame, &job->color_write, target);
    forget_shaders(&draw);
    free(frame.color);
    int wide = job->last_column - job->first_column + 1, high = job->last_row - job->first_row + 1;
    uint64_t tiles = (uint64_t)(wide * high);
    counters.jobs++;
    counters.tiles_stored += target.bytes ? tiles : 0;
    counters.tiles_loaded += source.bytes && !clears ? tiles : 0;
    counters.seconds += seconds_now() - began;
    if (simulating_time)
        time_job(&before, &counters);
    monitor_job(job->monitor, &before, &counters);
    if (switches.trace)
        fprintf(stderr, "vc4 executor: job %dx%d, %llu draws, %llu pixels, %llu instructions of groups, %.1f ms\n",
            job->width, job->height, (unsigned long long)(counters.draws - before.draws),
            (unsigned long long)(counters.pixels - before.pixels),
            (unsigned long long)(counters.fragment_instructions - before.fragment_instructions),
            1e3 * (counters.seconds - before.seconds));
}
