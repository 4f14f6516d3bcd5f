/* 64-bit words -> instructions [AG 26-38], and what a program reads of its uniform stream and of textures [K, its
 * validator]. */
#include "executor.h"

#include <stdlib.h>

static uint32_t bits(uint64_t code, int high, int low)
{
    return (uint32_t)(code >> low) & (uint32_t)((1ull << (high - low + 1)) - 1);
}

/* Whether an operation takes floats: then file A is unpacked to floats for it, else to integers [AG 31]. */
static bool add_takes_floats(int op) { return op >= FADD && op <= FTOI; }

static struct instruction fields(uint64_t code)
{
    struct instruction i = { .code = code, .immediate = (uint32_t)code, .sample = -1 };
    i.signal = bits(code, 63, 60);
    i.unpack = bits(code, 59, 57);
    i.pm = bits(code, 56, 56);
    i.pack = bits(code, 55, 52);
    i.cond_add = bits(code, 51, 49);
    i.cond_mul = bits(code, 48, 46);
    i.set_flags = bits(code, 45, 45);
    i.swap = bits(code, 44, 44);
    i.write_add = bits(code, 43, 38);
    i.write_mul = bits(code, 37, 32);
    if (i.signal == SIGNAL_BRANCH) {
        /* Branches have other fields; we take those that add a constant to the program counter and link no register. */
        if (bits(code, 51, 50) != 2 || i.write_add < 39 || i.write_mul < 39)
            not_done("a branch to a register's address, or one with a link", code);
        i.cond_add = bits(code, 55, 52);
        i.write_add = i.write_mul = WRITE_NOTHING;
        i.unpack = i.pm = i.pack = i.set_flags = 0;
        return i;
    }
    if (i.signal == SIGNAL_IMMEDIATE) {
        if (i.unpack || i.pack)
            not_done("an immediate for each element, a semaphore, or a packed immediate", code);
    } else {
        i.op_mul = bits(code, 31, 29);
        i.op_add = bits(code, 28, 24);
        i.read_a = bits(code, 23, 18);
        i.read_b = bits(code, 17, 12);
        i.add_a = bits(code, 11, 9);
        i.add_b = bits(code, 8, 6);
        i.mul_a = bits(code, 5, 3);
        i.mul_b = bits(code, 2, 0);
        bool small = i.signal == SIGNAL_SMALL;
        i.reads_uniform = i.read_a == READ_UNIFORM || (!small && i.read_b == READ_UNIFORM);
        bool one_operand = i.op_add == FTOI || i.op_add == ITOF || i.op_add == NOT || i.op_add == CLZ;
        bool add_uses = i.op_add && (i.add_a == MUX_A || (!one_operand && i.add_b == MUX_A));
        bool mul_uses = i.op_mul && (i.mul_a == MUX_A || i.mul_b == MUX_A);
        bool add_float = add_takes_floats(i.op_add), mul_float = i.op_mul == FMUL;
        i.a_is_float = (add_uses && add_float) || (mul_uses && mul_float);
        if (i.unpack && !i.pm && add_uses && mul_uses && add_float != mul_float)
            not_done("file A unpacked for a float and for an integer operation at once", code);
        if (!i.op_add)
            i.write_add = WRITE_NOTHING;
        if (!i.op_mul)
            i.write_mul = WRITE_NOTHING;
    }
    if (i.cond_add == NEVER)
        i.write_add = WRITE_NOTHING;
    if (i.cond_mul == NEVER)
        i.write_mul = WRITE_NOTHING;
    return i;
}

/* A sample begins with writes to t, r, b and ends with s, which starts it. Each takes a word of the uniform stream,
 * but s alone, a direct read of memory, has the word that its address is added to in its own instruction [K:
 * check_tmu_write]. */
static void note_samples(struct program *program, struct instruction *i, int parameters[2], int words[2][4])
{
    if (i->reads_uniform)
        program->words++;
    for (int alu = 0; alu < 2; alu++) {
        int to = alu ? i->write_mul : i->write_add;
        if (to < WRITE_TMU0)
            continue;
        int unit = to >= WRITE_TMU1;
        bool starts = (to & 3) == 0;
        i->direct = starts && !parameters[unit];
        if (parameters[unit] == 4)
            broken("more than four coordinates for a texture fetch", i->code);
        words[unit][parameters[unit]++] = i->direct ? program->words - 1 : program->words++;
        if (!starts)
            continue;
        struct sample *sample = &program->sample[program->samples];
        sample->direct = i->direct;
        sample->count = parameters[unit];
        for (int k = 0; k < sample->count; k++)
            sample->word[k] = words[unit][k];
        i->sample = program->samples++;
        parameters[unit] = 0;
    }
}

struct program decode(struct buffer code)
{
    int most = (int)(code.size / 8), end = -1, parameters[2] = { 0 }, words[2][4];
    const uint64_t *word = (const uint64_t *)code.bytes;
    struct program program = {
        .place = code.bytes, .code = calloc(most, sizeof *program.code),
        .sample = calloc(most, sizeof *program.sample),
    };
    for (int k = 0; k < most && k != end; k++) {
        struct instruction *i = &program.code[k];
        *i = fields(word[k]);
        note_samples(&program, i, parameters, words);
        find_facts(i);
        program.two_threads |= i->signal == SIGNAL_SWITCH || i->signal == SIGNAL_LAST_SWITCH;
        if (i->signal == SIGNAL_END)
            end = k + 3; /* two more are executed [AG 37] */
        program.length = k + 1;
    }
    if (end != program.length)
        broken("a program without an end", program.length);
    if (switches.check)
        check_program(&program);
    return program;
}

void free_program(struct program *program)
{
    free(program->code);
    free(program->sample);
    *program = (struct program){ 0 };
}
