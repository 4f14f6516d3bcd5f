/* Rules that machine code has to keep [AG 37-38]; Mesa's compiler and the kernel's validator know most of them too.
 * They hold between neighbours in time, so a branch's target is looked at after the last instruction of its delay. */
#include "executor.h"

static bool reads_file(const struct instruction *i, int file, int reg)
{
    if (i->signal == SIGNAL_IMMEDIATE || i->signal == SIGNAL_BRANCH)
        return false;
    return file ? i->signal != SIGNAL_SMALL && i->read_b == reg : i->read_a == reg;
}

static bool uses_mux(const struct instruction *i, int mux)
{
    if (i->signal == SIGNAL_IMMEDIATE || i->signal == SIGNAL_BRANCH)
        return false;
    return (i->op_add && (i->add_a == mux || i->add_b == mux)) || (i->op_mul && (i->mul_a == mux || i->mul_b == mux));
}

/* The writes of an instruction: the add result goes to file A unless they are swapped. */
static int written(const struct instruction *i, int file)
{
    return (file != 0) == (i->swap != 0) ? i->write_add : i->write_mul;
}

static bool is_tmu(int reg) { return reg >= WRITE_TMU0; }
static bool is_sfu(int reg) { return reg >= WRITE_RECIP && reg <= WRITE_LOG; }
static bool is_tile(int reg) { return reg >= 43 && reg <= 47; }

/* What goes to a unit that all QPUs of a slice share. The vertex memory is none of them: Mesa writes it beside
 * anything [P]. */
static int peripherals(const struct instruction *i)
{
    int count = 0;
    for (int file = 0; file < 2; file++) {
        int reg = written(i, file);
        count += is_tmu(reg) || is_sfu(reg) || is_tile(reg);
    }
    return count + (i->signal == SIGNAL_TMU0 || i->signal == SIGNAL_TMU1 || i->signal == SIGNAL_COLOR);
}

/* What check_step asks for, found once for each instruction. */
enum { USES_R4 = 1, TO_SFU = 2, TO_TILE = 4, READS_UNIFORM = 8, READS_VARYING = 16, ASKS_TMU0 = 32, ASKS_TMU1 = 64,
    SETS_STREAM = 128 };

void find_facts(struct instruction *i)
{
    for (int file = 0; file < 2; file++) {
        int reg = written(i, file);
        i->writes[file] = reg < 32 ? 1u << reg : 0;
        for (int r = 0; r < 32; r++)
            i->reads[file] |= reads_file(i, file, r) ? 1u << r : 0;
        i->facts |= is_sfu(reg) ? TO_SFU : 0;
        i->facts |= is_tile(reg) ? TO_TILE : 0;
        i->facts |= reg == WRITE_TMU0 ? ASKS_TMU0 : reg == WRITE_TMU1 ? ASKS_TMU1 : 0;
        i->facts |= reg == WRITE_UNIFORMS ? SETS_STREAM : 0;
        i->facts |= reads_file(i, file, READ_VARYING) ? READS_VARYING : 0;
    }
    i->facts |= uses_mux(i, MUX_R4) ? USES_R4 : 0;
    i->facts |= i->signal == SIGNAL_WAIT || i->signal == SIGNAL_COLOR ? TO_TILE : 0;
    i->facts |= i->reads_uniform ? READS_UNIFORM : 0;
}

/* What can be seen without running. */
void check_program(const struct program *program)
{
    for (int k = 0; k < program->length; k++) {
        struct instruction *i = &program->code[k];
        if (peripherals(i) > 1)
            broken("two shared units in one instruction", i->code);
        uint32_t used = i->reads[0] | i->reads[1] | i->writes[0] | i->writes[1];
        if (program->two_threads && used >> 16)
            broken("registers 16 to 31 in a program with two threads", i->code);
    }
}

/* One step of one program: what it must not do after those before it. */
void check_step(struct rules *rules, const struct program *program, const struct instruction *now,
    const struct instruction *before)
{
    if (before && ((now->reads[0] & before->writes[0]) | (now->reads[1] & before->writes[1])))
        broken("a register is read right after it was written", now->code);
    if (rules->since_sfu < 2 && now->facts & (USES_R4 | TO_SFU))
        broken("r4 is used, or the special functions, in the two instructions after a special function", now->code);
    if (rules->since_start < 2 && now->facts & TO_TILE)
        broken("the scoreboard is waited for in the first two instructions", now->code);
    if (rules->since_uniforms < 2 && now->facts & READS_UNIFORM)
        broken("a uniform is read in the two instructions after the stream's address was written", now->code);
    if ((rules->after_end || now->signal == SIGNAL_END) && now->facts & (READS_UNIFORM | READS_VARYING))
        broken("a uniform or varying is read in the last three instructions", now->code);
    int deepest = program->two_threads ? 2 : 4;
    for (int unit = 0; unit < 2; unit++) {
        if (now->facts & (unit ? ASKS_TMU1 : ASKS_TMU0) && ++rules->waiting[unit] > deepest)
            broken("more fetches than a TMU's queue holds", now->code);
        if (now->signal == (unit ? SIGNAL_TMU1 : SIGNAL_TMU0) && --rules->waiting[unit] < 0)
            broken("a fetch is awaited that was not asked for", now->code);
    }
    rules->since_sfu = now->facts & TO_SFU ? 0 : rules->since_sfu + 1;
    rules->since_uniforms = now->facts & SETS_STREAM ? 0 : rules->since_uniforms + 1;
    rules->since_start++;
    if (rules->after_end || now->signal == SIGNAL_END)
        rules->after_end++;
    if (rules->after_end == 3 && (rules->waiting[0] || rules->waiting[1]))
        broken("a program ends with fetches under way", now->code);
}
