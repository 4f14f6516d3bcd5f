/* A QPU runs a program: two files of 32 registers, six accumulators, an add and a mul ALU that work at the same time
 * [AG 16-38].
 *
 * The order within an instruction: operands are read, both ALUs compute, results are written where their condition
 * holds, flags are set, and what signals bring (r4 of a TMU, r5 of a varying) is there for the next instruction. */
#include "executor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

#define MOST_REQUESTS 16
#define MOST_STEPS 50000000 /* of one program; a loop that never ends is an error, not a pause */

static struct machine {
    Value file[2][32], accumulator[6];
    Value uniform, special[2], small, unpacked_a, unpacked_r4, result[2];
    Ints negative[GROUPS], zero[GROUPS], carry[GROUPS], new_carry[GROUPS];
    bool carry_known;                        /* after operations whose carry we know */
    bool flags_lost;                         /* set before a thread switch, and not since */
    Value coordinate[2][4];                  /* of each TMU: s t r b */
    Value request[2][MOST_REQUESTS];         /* results on their way */
    unsigned asked[2], taken[2];
    const uint32_t *words;                   /* the uniform stream */
    int varying, loaded_varying;
    int vpm_row, vpm_step, vpm_write_row, vpm_write_step;
    int groups;
} m;

#define EACH_GROUP for (int g = 0; g < m.groups; g++)
#define RUBBISH 0x7e

/* The CPU's own floats round as the hardware's do: toward zero, denormals are 0 as operands and results [HW; A]. */
unsigned enter_rounding(enum rounding rounding)
{
    unsigned before = _mm_getcsr();
    unsigned flush_and_no_traps = 0x8040 | 0x1f80;
    _mm_setcsr(flush_and_no_traps | (rounding == TOWARD_ZERO ? 0x6000 : 0));
    return before;
}

void leave_rounding(unsigned before) { _mm_setcsr(before); }

/* ---- arithmetic ---- */

static inline Floats chosen(Ints mask, Floats yes, Floats no)
{
    return (Floats)(((Ints)yes & mask) | ((Ints)no & ~mask));
}

static inline Floats smaller(Floats x, Floats y) { return chosen(x < y, x, y); }
static inline Floats larger(Floats x, Floats y) { return chosen(x > y, x, y); }
static inline Floats magnitude(Floats x) { return (Floats)((Ints)x & 0x7fffffff); }

/* There is no NaN: sums that have no value become an infinity of the NaN's sign [HW; A]. And no -0: adding +0 removes
 * it. */
static inline Floats tidy(Floats x)
{
    Ints nan = x != x;
    Ints infinity = ((Ints)x & (int32_t)0x80000000) | 0x7f800000;
    return chosen(nan, (Floats)infinity, x) + 0.0f;
}

/* 0 times anything is +0 [HW; A]. */
static inline Floats product(Floats x, Floats y)
{
    Ints none = (x == 0.0f) | (y == 0.0f);
    return tidy((Floats)((Ints)(x * y) & ~none));
}

static Words count_leading_zeros(Words x)
{
    Words r = x;
    for (int l = 0; l < ELEMENTS; l++)
        r[l] = x[l] ? (uint32_t)__builtin_clz(x[l]) : 32;
    return r;
}

/* Sums and differences of bytes that stop at 255 and 0. */
static Words saturated_bytes(Words x, Words y, int sign)
{
    Words all = x ^ x;
    for (int shift = 0; shift < 32; shift += 8) {
        Ints a = (Ints)(x >> shift & 255), b = (Ints)(y >> shift & 255), sum = sign > 0 ? a + b : a - b;
        sum = sum & (sum > 0);
        Ints beyond = sum > 255;
        all |= (Words)((sum & ~beyond) | (beyond & 255)) << shift;
    }
    return all;
}

static Words chosen_bytes(Words x, Words y, bool largest)
{
    Words all = x ^ x;
    for (int shift = 0; shift < 32; shift += 8) {
        Words a = x >> shift & 255, b = y >> shift & 255, mask = (Words)((Ints)a > (Ints)b);
        all |= (largest ? (a & mask) | (b & ~mask) : (a & ~mask) | (b & mask)) << shift;
    }
    return all;
}

static void add_alu(const struct instruction *i, const Value *x, const Value *y, Value *r)
{
    switch (i->op_add) {
    case FADD: EACH_GROUP r->f[g] = tidy(x->f[g] + y->f[g]); return;
    case FSUB: EACH_GROUP r->f[g] = tidy(x->f[g] - y->f[g]); return;
    case FMIN: EACH_GROUP r->f[g] = smaller(x->f[g], y->f[g]); return;
    case FMAX: EACH_GROUP r->f[g] = larger(x->f[g], y->f[g]); return;
    case FMINABS: EACH_GROUP r->f[g] = smaller(magnitude(x->f[g]), magnitude(y->f[g])); return;
    case FMAXABS: EACH_GROUP r->f[g] = larger(magnitude(x->f[g]), magnitude(y->f[g])); return;
    case FTOI: /* toward zero, and 0 out of range [VC4C]; the CPU gives the smallest integer there */
        EACH_GROUP {
            Ints whole = __builtin_convertvector(x->f[g], Ints), outside = magnitude(x->f[g]) >= 2147483648.0f;
            r->i[g] = whole & ~outside & (x->f[g] == x->f[g]);
        }
        return;
    /* rounds as sums do [VC4C: toward zero] */
    case ITOF: EACH_GROUP r->f[g] = __builtin_convertvector(x->i[g], Floats); return;
    case ADD:
        if (i->set_flags)
            EACH_GROUP m.new_carry[g] = (Ints)(x->w[g] + y->w[g] < x->w[g]);
        EACH_GROUP r->w[g] = x->w[g] + y->w[g];
        return;
    case SUB: /* the carry is a borrow: Mesa compares unsigned numbers by it [M: ntq_emit_comparison] */
        if (i->set_flags)
            EACH_GROUP m.new_carry[g] = (Ints)(x->w[g] < y->w[g]);
        EACH_GROUP r->w[g] = x->w[g] - y->w[g];
        return;
    case SHR: EACH_GROUP r->w[g] = x->w[g] >> (y->w[g] & 31); return;
    case ASR: EACH_GROUP r->i[g] = x->i[g] >> (y->i[g] & 31); return;
    case ROR: EACH_GROUP r->w[g] = x->w[g] >> (y->w[g] & 31) | x->w[g] << (-y->w[g] & 31); return;
    case SHL: EACH_GROUP r->w[g] = x->w[g] << (y->w[g] & 31); return;
    case MIN: EACH_GROUP { Ints less = x->i[g] < y->i[g]; r->i[g] = (x->i[g] & less) | (y->i[g] & ~less); } return;
    case MAX: EACH_GROUP { Ints more = x->i[g] > y->i[g]; r->i[g] = (x->i[g] & more) | (y->i[g] & ~more); } return;
    case AND: EACH_GROUP r->w[g] = x->w[g] & y->w[g]; return;
    case OR: EACH_GROUP r->w[g] = x->w[g] | y->w[g]; return;
    case XOR: EACH_GROUP r->w[g] = x->w[g] ^ y->w[g]; return;
    case NOT: EACH_GROUP r->w[g] = ~x->w[g]; return;
    case CLZ: EACH_GROUP r->w[g] = count_leading_zeros(x->w[g]); return;
    case V8ADDS_A: EACH_GROUP r->w[g] = saturated_bytes(x->w[g], y->w[g], 1); return;
    case V8SUBS_A: EACH_GROUP r->w[g] = saturated_bytes(x->w[g], y->w[g], -1); return;
    }
    not_done("operation of the add ALU", i->code);
}

static void mul_alu(const struct instruction *i, const Value *x, const Value *y, Value *r)
{
    switch (i->op_mul) {
    case FMUL:
        if (switches.multiply != switches.add) {
            unsigned before = enter_rounding(switches.multiply);
            EACH_GROUP r->f[g] = product(x->f[g], y->f[g]);
            leave_rounding(before);
        } else
            EACH_GROUP r->f[g] = product(x->f[g], y->f[g]);
        return;
    case MUL24: EACH_GROUP r->w[g] = (x->w[g] & 0xffffff) * (y->w[g] & 0xffffff); return;
    case V8MIN:
        if (x == y) /* a move */
            EACH_GROUP r->w[g] = x->w[g];
        else
            EACH_GROUP r->w[g] = chosen_bytes(x->w[g], y->w[g], false);
        return;
    case V8MAX: EACH_GROUP r->w[g] = chosen_bytes(x->w[g], y->w[g], true); return;
    case V8ADDS: EACH_GROUP r->w[g] = saturated_bytes(x->w[g], y->w[g], 1); return;
    case V8SUBS: EACH_GROUP r->w[g] = saturated_bytes(x->w[g], y->w[g], -1); return;
    }
    not_done("operation of the mul ALU (v8muld: its rounding is unknown)", i->code);
}

/* ---- operands ---- */

/* 0..15, -16..-1, 1.0 2.0 .. 128.0, 1/256 .. 1/2 [AG 29]. */
static uint32_t small_immediate(const struct instruction *i)
{
    uint32_t field = i->read_b, word;
    if (field >= 48)
        not_done("rotation of elements", i->code);
    if (field < 32)
        return field < 16 ? field : field - 32;
    float power = ldexpf(1.0f, field < 40 ? (int)field - 32 : (int)field - 48);
    memcpy(&word, &power, 4);
    return word;
}

static void splat(Value *value, uint32_t word)
{
    EACH_GROUP value->w[g] = (Words){ 0 } + word;
}

/* The bracket of (A (x - x0) + B (y - y0)) W + C; C comes in r5, and the program does the rest [AG 51]. How the
 * hardware rounds it, and where x0 and y0 are, is not published [?]: we take the first corner, and round once. */
static void read_varying(const struct outside *outside, Value *value, uint64_t code)
{
    const struct triangle *t = outside->triangle;
    if (!t || m.varying >= outside->varyings)
        broken("a varying is read that there is not", code);
    double slope_x = t->slope_x[m.varying], slope_y = t->slope_y[m.varying];
    for (int l = 0; l < m.groups * ELEMENTS; l++) {
        double x = outside->batch->x.integer[l] + 0.5 - t->x[0], y = outside->batch->y.integer[l] + 0.5 - t->y[0];
        value->number[l] = (float)(slope_x * x + slope_y * y);
    }
    m.loaded_varying = m.varying++;
    counters.varyings += (uint64_t)m.groups;
}

static const Value *read_register(const struct instruction *i, int file, int reg, const struct outside *outside)
{
    Value *special = &m.special[file];
    if (reg < 32)
        return &m.file[file][reg];
    switch (reg) {
    case READ_UNIFORM:
        return &m.uniform;
    case READ_NOTHING:
        return special;
    case READ_VARYING:
        read_varying(outside, special, i->code);
        return special;
    case READ_ELEMENT:
        if (file)
            not_done("the number of the QPU", i->code);
        for (int l = 0; l < m.groups * ELEMENTS; l++)
            special->word[l] = (uint32_t)l % ELEMENTS;
        return special;
    case READ_PIXEL:
        if (!outside->batch)
            broken("a vertex program reads the place of a pixel", i->code);
        return file ? &outside->batch->y : &outside->batch->x;
    case READ_VPM:
        if (!outside->vpm_in || m.vpm_row >= VPM_ROWS)
            broken("a read of the vertex memory without a set-up", i->code);
        memcpy(special->word, outside->vpm_in[m.vpm_row], sizeof outside->vpm_in[0]);
        m.vpm_row += m.vpm_step;
        return special;
    }
    not_done("read of register (42: which side of a triangle, samples)", (uint64_t)reg);
}

/* A byte as a float is b / 255 in the rounding of sums: 255 gives 1 [HW, 11 bytes toward zero]. */
static void byte_to_float(const Value *from, int byte, Value *to)
{
    EACH_GROUP to->f[g] = __builtin_convertvector((Ints)(from->w[g] >> (8 * byte) & 255), Floats) / 255.0f;
}

/* Unpacking [AG 31]: 1, 2 halves, 3 byte d to all four, 4-7 byte a-d. With pm it is r4's and always gives floats. */
static const Value *unpacked(const struct instruction *i, const Value *from, Value *to, bool as_float)
{
    switch (i->unpack) {
    case 1: case 2:
        if (as_float)
            not_done("half floats", i->code);
        EACH_GROUP to->i[g] = (from->i[g] << (i->unpack == 1 ? 16 : 0)) >> 16;
        return to;
    case 3:
        EACH_GROUP to->w[g] = (from->w[g] >> 24) * 0x01010101u;
        return to;
    }
    if (as_float)
        byte_to_float(from, i->unpack - 4, to);
    else
        EACH_GROUP to->w[g] = from->w[g] >> (8 * (i->unpack - 4)) & 255;
    return to;
}

/* ---- results ---- */

/* Say once for each instruction that it uses flags which a thread switch has lost. Mesa's scheduler calls flags
 * undefined after a switch [M], but its optimiser takes a comparison that was made before for one made after, so its
 * programs do so. */
static void complain_of_flags(uint64_t code)
{
    static uint64_t told[64];
    counters.lost_flags += (uint64_t)m.groups;
    for (int k = 0; k < 64; k++) {
        if (told[k] == code)
            return;
        if (!told[k]) {
            told[k] = code;
            break;
        }
    }
    fprintf(stderr, "vc4 executor: flags are used that a thread switch %s (0x%llx)\n",
        switches.keep_flags ? "may lose" : "loses",
            (unsigned long long)code);
}

/* Which elements a condition holds in. */
static void mask_of(int condition, Ints *mask, uint64_t code)
{
    if (m.flags_lost && condition != ALWAYS)
        complain_of_flags(code);
    if ((condition == IF_CARRY || condition == IF_NO_CARRY) && !m.carry_known)
        not_done("the carry of an operation other than integer add and sub", code);
    const Ints *flag = condition <= IF_NOT_ZERO ? m.zero : condition <= IF_NOT_NEGATIVE ? m.negative : m.carry;
    EACH_GROUP mask[g] = condition == ALWAYS ? ~(Ints){ 0 } : condition & 1 ? ~flag[g] : flag[g];
}

/* A float between 0 and 1 as a byte: round(f * 255), ties up [AG 30: rounds; ? for ties]. Twice as many bits hold the
 * product exactly. */
static Words byte_of(Floats f)
{
    Words bytes = { 0 };
    for (int l = 0; l < ELEMENTS; l++) {
        double scaled = (double)f[l] * 255.0 + (switches.pack_truncates ? 0.0 : 0.5);
        bytes[l] = !(f[l] > 0.0f) ? 0u : scaled >= 255.0 ? 255u : (uint32_t)scaled;
    }
    return bytes;
}

static Ints clamped(Ints x, int32_t low, int32_t high)
{
    Ints below = x < low, above = x > high;
    return (x & ~below & ~above) | (below & low) | (above & high);
}

/* What is packed by `pack` into `old`: bytes and halves that are not written keep their value [AG 30; P]. */
static Words packed(int pack, Words old, Words bytes, Words halves)
{
    switch (pack) {
    case 1: return (old & 0xffff0000u) | (halves & 0xffff);
    case 2: return (old & 0xffff) | halves << 16;
    case 3: return bytes * 0x01010101u;
    }
    int shift = 8 * (pack - 4);
    return (old & ~(255u << shift)) | bytes << shift;
}

/* Put a result where it goes: all of it, or packed, in the elements whose condition holds. */
static void put(const struct instruction *i, int alu, Value *to, const Value *from, int file)
{
    int condition = alu ? i->cond_mul : i->cond_add, pack = 0;
    if (alu && i->pm)
        pack = i->pack;
    else if (!i->pm && i->pack && file == 0)
        pack = i->pack;
    if (!pack && condition == ALWAYS) {
        EACH_GROUP to->w[g] = from->w[g];
        return;
    }
    Ints mask[GROUPS];
    mask_of(condition, mask, i->code);
    bool as_float = alu ? i->op_mul == FMUL || i->pm : (i->op_add >= FADD && i->op_add <= FMAXABS) || i->op_add == ITOF;
    bool saturates = pack > 8;
    if (pack == 8 || (pack && as_float && (saturates || pack < 3)))
        not_done("half floats, or saturated integers", i->code);
    EACH_GROUP {
        Words value = from->w[g];
        if (pack) {
            Words bytes, halves = saturates ? (Words)clamped(from->i[g], -32768, 32767) : value;
            bytes = as_float ? byte_of(from->f[g]) : saturates ? (Words)clamped(from->i[g], 0, 255) : value & 255;
            value = packed(pack & 7, to->w[g], bytes, halves);
        }
        to->w[g] = (value & (Words)mask[g]) | (to->w[g] & ~(Words)mask[g]);
    }
}

/* The special functions: 10 to 13 good bits [VC4C]; Mesa makes recip and rsqrt better by a Newton step. Which bits
 * they are is unknown: we cut the exact value [?]. The result is in r4 two instructions later; check.c sees that
 * nobody looks before. */
static void special_function(int reg, const Value *x)
{
    counters.sfu += (uint64_t)m.groups;
    uint32_t kept = ~0u << (23 - switches.sfu_bits);
    for (int l = 0; l < m.groups * ELEMENTS; l++) {
        double v = x->number[l], r;
        switch (reg) {
        case WRITE_RECIP: r = 1.0 / v; break;
        case WRITE_RSQRT: r = 1.0 / sqrt(v); break;
        case WRITE_EXP: r = exp2(v); break;
        default: r = log2(v); break;
        }
        m.accumulator[4].number[l] = (float)r;
        m.accumulator[4].word[l] &= kept;
    }
}

/* Set-up of the vertex memory: row 7:0, size 9:8 (2 = 32 bits), horizontal 11, step 17:12 (0 = 64) [AG 57-59]. */
static void set_up_vpm(const struct instruction *i, int file, uint32_t word)
{
    if ((word & 0xf00) != 0xa00)
        not_done("vertex memory other than rows of 32 bits", i->code);
    int row = word & 0x3f, step = word >> 12 & 63 ? word >> 12 & 63 : 64;
    if (file) {
        m.vpm_write_row = row;
        m.vpm_write_step = step;
    } else {
        m.vpm_row = row;
        m.vpm_step = step;
    }
}

/* A program with branches sets the uniform stream back in each block: the placeholder, which the kernel replaces by
 * the address of the program's first word, plus a constant [M: 0xd0d0d0d0; K]. */
static void set_stream(const struct instruction *i, const struct program *program, const struct outside *outside,
    uint32_t address)
{
    uint32_t bytes = address - 0xd0d0d0d0u;
    if ((bytes & 3) || bytes / 4 > (uint32_t)program->words)
        broken("the uniform stream is set outside itself", i->code);
    m.words = outside->uniforms + bytes / 4;
}

static void write_tmu(const struct instruction *i, int reg, const Value *value, const struct outside *outside)
{
    int unit = reg >= WRITE_TMU1, axis = reg & 3;
    if (!i->direct)
        m.words++; /* the parameter; where they lie was found when the program was decoded */
    m.coordinate[unit][axis] = *value;
    if (axis)
        return;
    Value *result = &m.request[unit][m.asked[unit]++ % MOST_REQUESTS];
    const struct texture *texture = &outside->textures[i->sample];
    struct missed missed = { { 0 }, { 0 } };
    if (i->direct)
        fetch_words(texture, value, result, m.groups, unit, &missed);
    else
        fetch(texture, value, &m.coordinate[unit][1], result, m.groups, unit, &missed);
    if (simulating_time)
        time_fetch(unit, &missed);
}

static void write_color(const struct instruction *i, int alu, const Value *value, const struct outside *outside)
{
    struct frame *frame = outside->frame;
    if (!frame)
        broken("a vertex program writes a colour", i->code);
    Ints mask[GROUPS];
    mask_of(alu ? i->cond_mul : i->cond_add, mask, i->code);
    const int32_t *holds = (const int32_t *)mask;
    const struct batch *batch = outside->batch;
    for (int l = 0; l < m.groups * ELEMENTS; l++)
        if (batch->covered.word[l] && holds[l])
            frame->color[batch->y.integer[l] * frame->pitch + batch->x.integer[l]] = value->word[l];
}

static void load_color(const struct outside *outside, uint64_t code)
{
    const struct batch *batch = outside->batch;
    const struct frame *frame = outside->frame;
    if (!frame)
        broken("a vertex program reads a colour", code);
    for (int l = 0; l < m.groups * ELEMENTS; l++)
        m.accumulator[4].word[l] = frame->color[batch->y.integer[l] * frame->pitch + batch->x.integer[l]];
}

/* A result that goes to a unit instead of a register. */
static void put_outside(const struct instruction *i, int alu, int reg, int file, const struct program *program,
                        const struct outside *outside)
{
    Value *value = &m.result[alu];
    bool packs = alu && i->pm && i->pack;
    if (packs && i->pack != 3)
        not_done("a partial write to a unit", i->code);
    if (packs)
        EACH_GROUP value->w[g] = byte_of(value->f[g]) * 0x01010101u;
    if (reg == WRITE_COLOR) {
        write_color(i, alu, value, outside);
        return;
    }
    if ((alu ? i->cond_mul : i->cond_add) != ALWAYS)
        not_done("a conditional write to a unit", i->code);
    if (reg >= WRITE_TMU0) {
        write_tmu(i, reg, value, outside);
        return;
    }
    switch (reg) {
    case WRITE_UNIFORMS:
        set_stream(i, program, outside, value->word[0]);
        return;
    case WRITE_VPM:
        if (!outside->vpm_out || m.vpm_write_row >= VPM_ROWS)
            broken("a write to the vertex memory without a set-up", i->code);
        memcpy(outside->vpm_out[m.vpm_write_row], value->word, sizeof outside->vpm_out[0]);
        m.vpm_write_row += m.vpm_write_step;
        return;
    case WRITE_VPM_SETUP:
        set_up_vpm(i, file, value->word[0]);
        return;
    case WRITE_RECIP: case WRITE_RSQRT: case WRITE_EXP: case WRITE_LOG:
        special_function(reg, value);
        return;
    }
    not_done("write to register (44: depth; 37: r5; 36: TMU swap)", (uint64_t)reg);
}

static void set_flags(const struct instruction *i)
{
    bool mul = i->signal != SIGNAL_IMMEDIATE && i->op_add == ADD_NOP;
    int condition = mul ? i->cond_mul : i->cond_add;
    const Value *value = &m.result[mul];
    if (condition == NEVER)
        return;
    Ints mask[GROUPS]; /* flags change only in elements whose condition held [A] */
    mask_of(condition, mask, i->code);
    EACH_GROUP {
        m.zero[g] = ((value->i[g] == 0) & mask[g]) | (m.zero[g] & ~mask[g]);
        m.negative[g] = ((value->i[g] < 0) & mask[g]) | (m.negative[g] & ~mask[g]);
        m.carry[g] = (m.new_carry[g] & mask[g]) | (m.carry[g] & ~mask[g]);
    }
    m.flags_lost = m.flags_lost && condition != ALWAYS;
    m.carry_known = (i->op_add == ADD || i->op_add == SUB) && (condition == ALWAYS || m.carry_known);
}

/* ---- the program counter ---- */

/* Conditions: 0 all zero, 1 all not zero, 2 any zero, 3 any not zero, 4-7 the same of negative, 8-11 of carry, 15
 * always. All 16 elements decide together [AG 33]. Ours are up to 128: Mesa masks the elements that do not take part,
 * so that the more of them decide, the more often a block is run through without effect, and never the other way. */
static bool branches(const struct instruction *i)
{
    int condition = i->cond_add;
    if (condition == 15)
        return true;
    if (condition > 11 || (condition > 7 && !m.carry_known))
        not_done("condition of a branch", i->code);
    if (m.flags_lost)
        complain_of_flags(i->code);
    const Ints *flag = condition < 4 ? m.zero : condition < 8 ? m.negative : m.carry;
    bool all = true, any = false;
    for (int g = 0; g < m.groups; g++)
        for (int l = 0; l < ELEMENTS; l++) {
            bool holds = (flag[g][l] != 0) == !(condition & 1);
            all &= holds;
            any |= holds;
        }
    return condition & 2 ? any : all;
}

/* What does not survive a thread switch [AG 19]: with rubbish in it, a program that relies on it draws rubbish. */
static void poison_switch(void)
{
    for (int r = 0; r < 6; r++)
        if (r != 4)
            memset(&m.accumulator[r], RUBBISH, sizeof m.accumulator[r]);
    if (switches.keep_flags)
        return;
    memset(m.zero, 0xff, sizeof m.zero);
    memset(m.negative, 0xff, sizeof m.negative);
    m.carry_known = false;
}

static void reset(const struct outside *outside, int groups)
{
    if (switches.poison)
        memset(m.file, RUBBISH, sizeof m.file + sizeof m.accumulator);
    m.groups = groups;
    m.words = outside->uniforms;
    m.asked[0] = m.asked[1] = m.taken[0] = m.taken[1] = 0;
    m.varying = 0;
    m.loaded_varying = -1;
    m.vpm_row = m.vpm_write_row = VPM_ROWS;
    m.carry_known = m.flags_lost = false;
    if (outside->triangle)
        /* A15 is W [AG 51]; B15, Z, stays rubbish */
        EACH_GROUP m.file[0][15].f[g] = (Floats){ 0 } + outside->triangle->w;
}

static const Value *operand(int mux, const Value *a, const Value *b, const Value *r4)
{
    return mux == MUX_A ? a : mux == MUX_B ? b : mux == MUX_R4 ? r4 : &m.accumulator[mux];
}

static void execute(const struct instruction *i, const struct program *program, const struct outside *outside)
{
    const Value *a, *b, *r4 = &m.accumulator[4];
    if (i->signal == SIGNAL_IMMEDIATE) {
        splat(&m.result[0], i->immediate);
        splat(&m.result[1], i->immediate);
    } else {
        if (i->reads_uniform) {
            if (counting_caches)
                count_uniform(m.words);
            splat(&m.uniform, *m.words++);
            counters.uniform_words += (uint64_t)m.groups;
        }
        a = read_register(i, 0, i->read_a, outside);
        if (i->signal == SIGNAL_SMALL) {
            splat(&m.small, small_immediate(i));
            b = &m.small;
        } else if (i->read_b == READ_VARYING && i->read_a == READ_VARYING)
            b = a;
        else
            b = read_register(i, 1, i->read_b, outside);
        if (i->unpack && i->pm)
            r4 = unpacked(i, r4, &m.unpacked_r4, true);
        else if (i->unpack)
            a = unpacked(i, a, &m.unpacked_a, i->a_is_float);
        if (i->op_add)
            add_alu(i, operand(i->add_a, a, b, r4), operand(i->add_b, a, b, r4), &m.result[0]);
        if (i->op_mul)
            mul_alu(i, operand(i->mul_a, a, b, r4), operand(i->mul_b, a, b, r4), &m.result[1]);
    }
    for (int alu = 0; alu < 2; alu++) {
        int reg = alu ? i->write_mul : i->write_add, file = alu ? !i->swap : i->swap;
        if (reg == WRITE_NOTHING)
            continue;
        if (reg < 32)
            put(i, alu, &m.file[file][reg], &m.result[alu], file);
        else if (reg < WRITE_R0 + 4)
            put(i, alu, &m.accumulator[reg - WRITE_R0], &m.result[alu], -1);
        else
            put_outside(i, alu, reg, file, program, outside);
    }
    if (i->set_flags)
        set_flags(i);
    if (m.loaded_varying >= 0) {
        EACH_GROUP m.accumulator[5].f[g] = (Floats){ 0 } + outside->triangle->start[m.loaded_varying];
        m.loaded_varying = -1;
    }
}

static void take_result(int unit, uint64_t code)
{
    if (m.taken[unit] == m.asked[unit])
        broken("a fetch is awaited that was not asked for", code);
    if (simulating_time)
        time_taken(unit);
    const Value *result = &m.request[unit][m.taken[unit]++ % MOST_REQUESTS];
    EACH_GROUP m.accumulator[4].w[g] = result->w[g];
}

void run_program(const struct program *program, const struct outside *outside, int groups)
{
    struct rules rules = { .since_sfu = 9, .since_uniforms = 9 };
    const struct instruction *before = NULL;
    int left = 0, until_switch = 0, until_jump = 0, target = 0;
    uint64_t steps = 0;
    bool shades = outside->triangle != NULL, timed = shades && simulating_time;
    reset(outside, groups);
    if (timed)
        time_starts();
    for (int counter = 0;; counter++) {
        if (counter < 0 || counter >= program->length)
            broken("the program counter is outside the program", (uint64_t)counter);
        const struct instruction *i = &program->code[counter];
        if (switches.check)
            check_step(&rules, program, i, before);
        before = i;
        bool at_hand = !shades || !counting_caches || count_code(program->place + 8 * counter);
        if (timed)
            time_instruction(at_hand);
        if (++steps > MOST_STEPS)
            broken("a program does not end", i->code);
        if (i->signal == SIGNAL_BRANCH) {
            if (until_jump)
                broken("a branch in the delay of another", i->code);
            if (branches(i)) { /* three more instructions, then to a place counted in bytes from the fourth [AG 34] */
                until_jump = 4;
                target = counter + 4 + (int32_t)i->immediate / 8;
            }
        } else
            execute(i, program, outside);
        switch (i->signal) {
        case SIGNAL_TMU0: take_result(0, i->code); break;
        case SIGNAL_TMU1: take_result(1, i->code); break;
        case SIGNAL_COLOR: load_color(outside, i->code); break;
        case SIGNAL_SWITCH: case SIGNAL_LAST_SWITCH: until_switch = 3; break; /* two more, then the other thread */
        case SIGNAL_END: left = 3; break;
        case SIGNAL_NONE: case SIGNAL_WAIT: case SIGNAL_UNLOCK: case SIGNAL_SMALL: case SIGNAL_IMMEDIATE:
        case SIGNAL_BRANCH: break;
        default: not_done("signal (0: breakpoint, 7: coverage, 9: colour and end, 12: alpha)", i->code);
        }
        if (until_switch && !--until_switch) {
            m.flags_lost = true;
            if (timed)
                time_switch();
            if (switches.poison)
                poison_switch();
        }
        if (until_jump && !--until_jump)
            counter = target - 1;
        if (left && !--left)
            break;
    }
    if (timed)
        time_ends(groups, program->two_threads);
    uint64_t *sum = shades ? &counters.fragment_instructions : &counters.vertex_instructions;
    *sum += steps * (uint64_t)groups;
}
