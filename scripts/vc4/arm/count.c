/* A plug-in of QEMU that counts the instructions of user space.
 *
 * The program asks for a count where it likes, by getpgid(0x7000 + n), which fails and does nothing else: then the line
 * "n COUNT" goes to standard error. The interface is QEMU's, version 1; Debian ships no header for it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SEEN __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))
#define GETPGID 132 /* its number on ARM */
#define FIRST_MARK 0x7000
#define ADD_U64 0 /* QEMU_PLUGIN_INLINE_ADD_U64 */

typedef uint64_t Plugin;
struct block;
SEEN int qemu_plugin_version = 1;
void qemu_plugin_register_vcpu_tb_trans_cb(Plugin, void (*)(Plugin, struct block *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct block *);
void qemu_plugin_register_vcpu_syscall_cb(Plugin, void (*)(Plugin, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));

static uint64_t count;

static void translated(UNUSED Plugin id, struct block *block)
{
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &count, qemu_plugin_tb_n_insns(block));
}

static void called(UNUSED Plugin id, UNUSED unsigned cpu, int64_t number, uint64_t first, UNUSED uint64_t a,
    UNUSED uint64_t b, UNUSED uint64_t c, UNUSED uint64_t d, UNUSED uint64_t e, UNUSED uint64_t f, UNUSED uint64_t g)
{
    if (number == GETPGID && first >= FIRST_MARK)
        fprintf(stderr, "mark %llu %llu\n", (unsigned long long)(first - FIRST_MARK), (unsigned long long)count);
}

SEEN int qemu_plugin_install(Plugin id, UNUSED const void *info, UNUSED int argc, UNUSED char **argv)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
