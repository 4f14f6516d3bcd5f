/* A virtual VideoCore IV (V3D 2.1): it executes what Mesa's vc4 driver gives the kernel.
 *
 *   preload.c   the seam: this library's ioctl() stands in front of Mesa's no-op shim
 *   job.c       a job: control list, shader records, uniform streams, buffers
 *   decode.c    64-bit words -> instructions and what a program reads
 *   qpu.c       runs a program on many elements at once
 *   vertex.c    vertices through the vertex and coordinate programs
 *   raster.c    triangles -> quads -> groups of 16 elements
 *   tmu.c       texture fetches;  tiling.c  where texels lie in memory
 *   tlb.c       the tile buffer: clears, loads, stores
 *   check.c     rules that machine code has to keep, asserted while it runs
 *   count.c     what was executed, as the hardware's counters would have it
 *   caches.c    which of it the caches had
 *   time.c      clocks that it took, by an event simulation
 *   perfmon.c   the kernel's interface to these counters
 *
 * What is not done ends the process with its name ("vc4 executor: not done: ..."); nothing is guessed in silence.
 *
 * Sources of facts, as the comments mark them:
 *   [AG]     Broadcom, VideoCore IV 3D Architecture Reference Guide, VideoCoreIV-AG100-R, 2013, with its page
 *   [M]      Mesa 22.3.6, src/gallium/drivers/vc4 and src/broadcom/cle
 *   [K]      Linux, drivers/gpu/drm/vc4 and include/uapi/drm/vc4_drm.h
 *   [HW]     tables in VC4C's tests that were made by code on the real hardware
 *   [VC4C]   what VC4C's emulator and comments say, without such a table
 *   [A]      vc4asm's addendum to [AG], measured corrections
 *   [V3DLib] V3DLib's notes, observed on boards
 *   [P]      seen with a prototype of this executor
 *   [?]      unknown: a choice of ours, mostly with a switch
 */
#ifndef EXECUTOR_H
#define EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- elements ----
 * A QPU is a processor of 16 elements [AG 16]: four quads of 2x2 pixels, or 16 vertices. We run up to 8 such groups in
 * step: all of them execute every instruction, which is right even in branches, because the compiler keeps a mask of
 * active elements. */
#define ELEMENTS 16
#define GROUPS 8
#define LANES (ELEMENTS * GROUPS)

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));

/* A register as all groups have it. */
typedef union {
    Words w[GROUPS];
    Ints i[GROUPS];
    Floats f[GROUPS];
    uint32_t word[LANES];
    int32_t integer[LANES];
    float number[LANES];
} Value;

/* ---- switches, from the environment; see preload.c ---- */
enum rounding { TOWARD_ZERO, TO_NEAREST };
struct switches {
    enum rounding add;       /* fadd, fsub, itof, byte to float, varyings */
    enum rounding multiply;  /* fmul */
    bool pack_truncates;     /* a float that becomes a byte */
    int sfu_bits;            /* mantissa bits of the four special functions, 1 to 23 */
    bool poison;             /* fill what a program must not rely on with rubbish */
    bool keep_flags;         /* flags survive a thread switch */
    bool check;              /* assert the rules of check.c */
    bool trace;              /* print every job */
};
extern struct switches switches;
bool vc4_executor_switch(const char *name, const char *word);

/* End the process: it asks for something that is not done. */
void not_done(const char *what, uint64_t detail) __attribute__((noreturn));
/* End the process: driver or compiler broke a rule, or the executor is wrong. */
void broken(const char *rule, uint64_t detail) __attribute__((noreturn));

/* ---- buffers (preload.c) ---- */
struct buffer {
    uint8_t *bytes;
    uint32_t size;
};
struct buffer buffer_of(int fd, uint32_t handle);

/* ---- programs (decode.c) ---- */
enum signal {
    SIGNAL_BREAK, SIGNAL_NONE, SIGNAL_SWITCH, SIGNAL_END, SIGNAL_WAIT, SIGNAL_UNLOCK, SIGNAL_LAST_SWITCH,
    SIGNAL_COVERAGE, SIGNAL_COLOR, SIGNAL_COLOR_END, SIGNAL_TMU0, SIGNAL_TMU1, SIGNAL_ALPHA, SIGNAL_SMALL,
    SIGNAL_IMMEDIATE, SIGNAL_BRANCH
};
enum add_op {
    ADD_NOP, FADD, FSUB, FMIN, FMAX, FMINABS, FMAXABS, FTOI, ITOF, ADD = 12, SUB, SHR, ASR, ROR, SHL, MIN, MAX, AND,
    OR, XOR, NOT, CLZ, V8ADDS_A = 30, V8SUBS_A
};
enum mul_op { MUL_NOP, FMUL, MUL24, V8MULD, V8MIN, V8MAX, V8ADDS, V8SUBS };
enum condition { NEVER, ALWAYS, IF_ZERO, IF_NOT_ZERO, IF_NEGATIVE, IF_NOT_NEGATIVE, IF_CARRY, IF_NO_CARRY };
/* Registers 32 and up; what they do depends on whether they are read or written, and on the file. */
enum read_register { READ_UNIFORM = 32, READ_VARYING = 35, READ_ELEMENT = 38, READ_NOTHING = 39, READ_PIXEL = 41,
    READ_VPM = 48 };
enum write_register {
    WRITE_R0 = 32, WRITE_R5 = 37, WRITE_NOTHING = 39, WRITE_UNIFORMS = 40, WRITE_COLOR = 46, WRITE_VPM = 48,
    WRITE_VPM_SETUP = 49, WRITE_RECIP = 52, WRITE_RSQRT, WRITE_EXP, WRITE_LOG, WRITE_TMU0 = 56, WRITE_TMU1 = 60
};
enum mux { MUX_R0, MUX_R4 = 4, MUX_R5, MUX_A, MUX_B };

struct instruction {
    uint64_t code;
    uint32_t immediate;
    uint8_t signal, unpack, pm, pack, cond_add, cond_mul, set_flags, swap, write_add, write_mul;
    uint8_t op_mul, op_add, read_a, read_b, add_a, add_b, mul_a, mul_b;
    bool reads_uniform;
    bool a_is_float;  /* what is unpacked of file A becomes a float */
    bool direct;      /* a write to s alone: the address of a word */
    uint32_t reads[2], writes[2]; /* registers 0 to 31 of each file, a bit each (check.c) */
    uint16_t facts;   /* what else check.c asks for, a bit each */
    int sample;       /* which sample a write to a TMU's s is, in the order of the code */
};

/* Where the words lie that describe a sample's texture. */
struct sample {
    bool direct;
    int count;        /* parameters, one for each coordinate written */
    int word[4];      /* their places in the uniform stream */
};

struct program {
    int length;       /* instructions */
    int words;        /* uniform words that a straight run through the code reads */
    int samples;
    bool two_threads;
    const uint8_t *place;  /* of its code in memory */
    struct instruction *code;
    struct sample *sample;
};
struct program decode(struct buffer code);
void free_program(struct program *program);

/* ---- textures (tmu.c, tiling.c) ---- */
enum tiling { RASTER, T_TILES, LT_TILES };
struct layout {
    enum tiling tiling;
    uint32_t width;              /* texels */
    uint8_t log_bytes;           /* of a texel, as a power of two */
    uint8_t log_tile_w, log_tile_h; /* of a microtile of 64 bytes */
};
struct layout layout_of(enum tiling tiling, uint32_t width, int log_bytes);
enum tiling natural_tiling(uint32_t width, uint32_t height, int log_bytes);
uint32_t padded_bytes(uint32_t width, uint32_t height, int log_bytes);
void offsets(const struct layout *layout, const int32_t *x, const int32_t *y, uint32_t *offset, int lanes);
uint32_t offset_of(const struct layout *layout, int32_t x, int32_t y);

struct texture {
    struct buffer buffer;        /* the whole of it; direct reads begin there */
    uint32_t base;               /* of level 0 in the buffer */
    uint32_t type, width, height, wrap_s, wrap_t, levels;
    bool linear;
    struct layout layout;
};
struct texture texture_of(struct buffer buffer, const uint32_t *words, const struct sample *sample);
struct missed { uint8_t near[GROUPS], far[GROUPS]; }; /* lines that a fetch of each group missed: in a TMU, and behind */
void fetch(const struct texture *texture, const Value *s, const Value *t, Value *result, int groups, int tmu,
    struct missed *missed);
void fetch_words(const struct texture *texture, const Value *address, Value *result, int groups, int tmu,
    struct missed *missed);

/* ---- the tile buffer (tlb.c) ---- */
struct surface { uint32_t index, offset; uint16_t bits, flags; };
struct frame {                   /* the tile buffers of all tiles, side by side */
    int width, height, pitch;    /* pixels; the pitch is a whole number of tiles */
    int first_column, last_column, first_row, last_row; /* of tiles that are drawn */
    uint32_t *color;
};
#define TILE 64

/* ---- triangles (raster.c) ---- */
#define MOST_VARYINGS 64
struct triangle {
    double x[3], y[3];           /* corners in pixels */
    double slope_x[MOST_VARYINGS], slope_y[MOST_VARYINGS];
    float start[MOST_VARYINGS];  /* C: the value at corner 0 */
    float w;
};

/* Up to 8 groups of four quads of a triangle. */
struct batch {
    int groups;
    Value x, y;                  /* pixels, integers */
    Value covered;               /* all bits set where the pixel is inside; else a helper */
};

/* ---- a QPU (qpu.c) ---- */
struct outside {                 /* what a program sees beyond its registers */
    const uint32_t *uniforms;
    const struct texture *textures;
    const struct triangle *triangle; /* fragment programs */
    const struct batch *batch;
    struct frame *frame;
    int varyings;
    const uint32_t (*vpm_in)[ELEMENTS]; /* vertex programs: rows of 16 words */
    uint32_t (*vpm_out)[ELEMENTS];
};
#define VPM_ROWS 64
void run_program(const struct program *program, const struct outside *outside, int groups);
unsigned enter_rounding(enum rounding rounding); /* of the CPU's floats; returns what to give leave_rounding */
void leave_rounding(unsigned before);

/* ---- drawing ---- */
struct vertex {
    int64_t x, y;                /* 1/16 pixel */
    float z, inverse_w, varying[MOST_VARYINGS];
};
struct draw {                    /* the state that a primitive list is drawn with */
    int fd;
    const uint32_t *handles;     /* of the job */
    const uint8_t *record;       /* the shader record; vertex buffers' indices before it */
    const uint32_t *record_handles;
    uint32_t attributes;
    struct program fragment, vertex, coordinate;
    const uint32_t *fragment_words, *vertex_words, *coordinate_words;
    struct texture *textures;
    int clip_left, clip_top, clip_right, clip_bottom; /* pixels; right and bottom are outside */
    int32_t center_x, center_y;  /* 1/16 pixel */
    float scale_x, scale_y;      /* half width and height, 1/16 pixel */
    uint8_t configuration[3];
    struct frame *frame;
};
void shade_vertices(const struct draw *draw, const uint32_t *indices, uint32_t count, struct vertex *vertices);
void draw_triangle(const struct draw *draw, const struct vertex *a, const struct vertex *b, const struct vertex *c);

struct submit;
void run_job(int fd, const struct submit *job);
void clear_or_load(struct frame *frame, bool clear, const uint32_t *color, const struct surface *read,
    struct buffer buffer);
void store(const struct frame *frame, const struct surface *write, struct buffer buffer);

/* ---- rules (check.c) ---- */
struct rules { int since_sfu, since_tmu, since_start, since_uniforms, after_end; bool scoreboard; int waiting[2]; };
void find_facts(struct instruction *instruction);
void check_program(const struct program *program);
void check_step(struct rules *rules, const struct program *program, const struct instruction *now,
    const struct instruction *before);

/* ---- counters (count.c) ---- */
struct counters {
    uint64_t jobs, draws, tiles_stored, tiles_loaded, triangles, pixels, quads, groups, batches;
    uint64_t fragment_instructions;   /* executed by groups of 16 elements */
    uint64_t vertex_instructions;
    uint64_t uniform_words;           /* read by groups */
    uint64_t varyings;                /* read by groups */
    uint64_t sfu;                     /* writes by groups */
    uint64_t texels, texture_quads;   /* fetched */
    uint64_t tmu_hits, tmu_misses, code_bytes;
    uint64_t code_hits, code_misses, uniform_hits, uniform_misses, second_level_hits, second_level_misses;
    uint64_t clocks, clocks_computing, clocks_moving, clocks_waiting, memory_bytes; /* time.c */
    uint64_t lost_flags;              /* uses of flags that a thread switch loses */
    double seconds;
};
extern struct counters counters;
void start_counting(const char *path);
uint64_t vc4_executor_counter(const char *name);

/* ---- caches (caches.c) ---- */
extern bool counting_caches;
bool shape_caches(uint32_t texture_bytes, uint32_t ways, uint32_t second_bytes);
void count_caches(void);
int current_slice(void);
void next_slice(void);
void count_lines(const uint8_t *base, const uint32_t *offset, int lanes, int tmu, struct missed *missed);
bool count_code(const void *address);
bool count_uniform(const void *address);

/* ---- time (time.c) ---- */
extern bool simulating_time;
bool choose_time(const char *word);
void time_starts(void);
void time_instruction(bool code_at_hand);
void time_fetch(int unit, const struct missed *missed);
void time_taken(int unit);
void time_switch(void);
void time_ends(int groups, bool two_threads);
int least_busy_slice(void);
void time_job(const struct counters *before, const struct counters *after);

/* ---- perfmon.c: each returns 0 or an errno ---- */
int create_monitor(void *argument);
int destroy_monitor(const void *argument);
int monitor_values(const void *argument);
void monitor_job(uint32_t id, const struct counters *before, const struct counters *after);

#endif
