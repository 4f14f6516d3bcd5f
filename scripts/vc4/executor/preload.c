/* The seam: a library that is preloaded in front of Mesa's no-op shim and defines ioctl() sees all that reaches the
 * kernel [P].
 *
 * Jobs are drawn inside SUBMIT_CL, so that waiting for them, which the shim does by doing nothing, is right.
 *
 * Switches, all from the environment:
 *   VC4_EXECUTOR_ROUND   hardware (default): all floats toward zero [HW for fadd and fsub, V3DLib for fmul]; nearest
 *   VC4_EXECUTOR_FMUL    hardware, nearest: fmul alone, which one source only says to round toward zero
 *   VC4_EXECUTOR_PACK    round (default) [AG 30], truncate [VC4C]: how a float becomes a byte
 *   VC4_EXECUTOR_SFU     mantissa bits of recip, rsqrt, exp2, log2: 12 with the hardware's rounding (10 to 13 are said
 *                        to be good [VC4C]), 23 with nearest
 *   VC4_EXECUTOR_POISON  1 (default), 0: rubbish in registers at the start and at thread switches
 *   VC4_EXECUTOR_FLAGS   lost (default) [M, its scheduler], kept: what becomes of flags at a thread switch, if POISON
 *                        is on
 *   VC4_EXECUTOR_CHECK   1 (default), 0: the rules of check.c
 *   VC4_EXECUTOR_COUNT   a file that gets the counters at exit, as JSON
 *   VC4_EXECUTOR_CACHE   bytes,ways of a TMU's cache: 4096,4 [VC4C: 4 KiB; ? for the ways]
 *   VC4_EXECUTOR_TIME    off (default), low, middle, high: simulate the clocks, with a set of parameters of time.c
 *   VC4_EXECUTOR_TRACE   1: a line for each job to standard error
 */
#define _GNU_SOURCE
#include "executor.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Requests of the vc4 driver have type 'd'; the number is 0x40 + DRM_VC4_x [K]. */
enum {
    GEM_CLOSE = 0x09, SUBMIT_CL = 0x40, CREATE_BO = 0x43, MMAP_BO, CREATE_SHADER_BO, GET_PARAM = 0x47,
    PERFMON_CREATE = 0x4c, PERFMON_DESTROY, PERFMON_GET_VALUES
};
#define SUPPORTS_PERFMON 8u /* parameter of GET_PARAM [K] */
#define MMAP_REQUEST 0xc0106444ul /* _IOWR('d', 0x44, 16 bytes) */
#define PAGE 4096u
#define MOST_HANDLES 65536u

struct create_bo { uint32_t size, flags, handle, pad; };
struct create_shader_bo { uint32_t size, flags; uint64_t data; uint32_t handle, pad; };
struct mmap_bo { uint32_t handle, flags; uint64_t offset; };
struct get_param { uint32_t param, pad; uint64_t value; };

struct switches switches;
static int (*next_ioctl)(int, unsigned long, void *);
static struct buffer buffers[MOST_HANDLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void not_done(const char *what, uint64_t detail)
{
    fprintf(stderr, "vc4 executor: not done: %s (0x%llx)\n", what, (unsigned long long)detail);
    abort();
}

void broken(const char *rule, uint64_t detail)
{
    fprintf(stderr, "vc4 executor: broken rule: %s (0x%llx)\n", rule, (unsigned long long)detail);
    abort();
}

/* The shim serves mappings by offsets of its file, shared with the driver's own. */
struct buffer buffer_of(int fd, uint32_t handle)
{
    if (handle >= MOST_HANDLES || !buffers[handle].size)
        not_done("a buffer that was not created here, as imports are", handle);
    struct buffer *buffer = &buffers[handle];
    if (!buffer->bytes) {
        struct mmap_bo map = { .handle = handle };
        next_ioctl(fd, MMAP_REQUEST, &map);
        void *bytes = mmap64(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off64_t)map.offset);
        if (bytes == MAP_FAILED)
            broken("a buffer cannot be mapped", handle);
        buffer->bytes = bytes;
    }
    return *buffer;
}

static void forget(uint32_t handle)
{
    if (handle < MOST_HANDLES && buffers[handle].bytes)
        munmap(buffers[handle].bytes, buffers[handle].size);
    if (handle < MOST_HANDLES)
        buffers[handle] = (struct buffer){ NULL, 0 };
}

static void created(uint32_t handle, uint32_t size)
{
    forget(handle);
    if (handle < MOST_HANDLES)
        buffers[handle].size = (size + PAGE - 1) & ~(PAGE - 1);
}

/* Set a switch by the end of its variable's name; false where there is no such switch or it does not take the word.
 * ROUND sets FMUL and SFU too. */
static bool set_switch(const char *name, const char *word)
{
    bool hardware = !strcmp(word, "hardware"), nearest = !strcmp(word, "nearest"), on = !strcmp(word, "1"),
        off = !strcmp(word, "0");
    enum rounding rounding = nearest ? TO_NEAREST : TOWARD_ZERO;
    if (!strcmp(name, "ROUND") && (hardware || nearest)) {
        switches.add = switches.multiply = rounding;
        switches.sfu_bits = nearest ? 23 : 12;
    } else if (!strcmp(name, "FMUL") && (hardware || nearest))
        switches.multiply = rounding;
    else if (!strcmp(name, "PACK") && (!strcmp(word, "round") || !strcmp(word, "truncate")))
        switches.pack_truncates = word[0] == 't';
    else if (!strcmp(name, "SFU") && atoi(word) >= 1 && atoi(word) <= 23)
        switches.sfu_bits = atoi(word);
    else if (!strcmp(name, "POISON") && (on || off))
        switches.poison = on;
    else if (!strcmp(name, "FLAGS") && (!strcmp(word, "lost") || !strcmp(word, "kept")))
        switches.keep_flags = word[0] == 'k';
    else if (!strcmp(name, "CHECK") && (on || off))
        switches.check = on;
    else if (!strcmp(name, "TRACE") && (on || off))
        switches.trace = on;
    else if (!strcmp(name, "TIME"))
        return choose_time(word);
    else
        return false;
    return true;
}

static void start(void)
{
    /* A switch that sets others comes before them. */
    static const char *const defaults[][2] = {
        { "ROUND", "hardware" }, { "FMUL", NULL }, { "SFU", NULL }, { "PACK", "round" }, { "POISON", "1" },
        { "FLAGS", "lost" }, { "CHECK", "1" }, { "TRACE", "0" }, { "TIME", "off" },
    };
    next_ioctl = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    for (size_t k = 0; k < sizeof defaults / sizeof *defaults; k++) {
        char variable[64];
        snprintf(variable, sizeof variable, "VC4_EXECUTOR_%s", defaults[k][0]);
        const char *word = getenv(variable);
        word = word && *word ? word : defaults[k][1];
        if (word && !set_switch(defaults[k][0], word)) {
            fprintf(stderr, "vc4 executor: %s=%s is not known; scripts/vc4/executor/preload.c has a list\n", variable,
                word);
            exit(2);
        }
    }
    start_counting(getenv("VC4_EXECUTOR_COUNT"));
}

/* The same for Python, between frames: one session draws in both modes. */
bool vc4_executor_switch(const char *name, const char *word)
{
    pthread_once(&once, start); /* which would set all of them again */
    return set_switch(name, word);
}

/* What the shim does not know: 0 or -1 as ioctl() returns it; 1 where the shim is to do it. */
static int done_here(uint32_t number, void *argument)
{
    int error;
    if (number == GET_PARAM && ((struct get_param *)argument)->param == SUPPORTS_PERFMON) {
        ((struct get_param *)argument)->value = 1;
        return 0;
    } else if (number == PERFMON_CREATE)
        error = create_monitor(argument);
    else if (number == PERFMON_DESTROY)
        error = destroy_monitor(argument);
    else if (number == PERFMON_GET_VALUES)
        error = monitor_values(argument);
    else
        return 1;
    errno = error ? error : errno;
    return error ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    pthread_once(&once, start);
    if ((request >> 8 & 0xff) != 'd')
        return next_ioctl(fd, request, argument);
    uint32_t number = request & 0xff;
    pthread_mutex_lock(&lock);
    if (number == SUBMIT_CL)
        run_job(fd, argument);
    if (number == GEM_CLOSE)
        forget(*(const uint32_t *)argument);
    int result = done_here(number, argument);
    if (result == 1)
        result = next_ioctl(fd, request, argument);
    if (!result && number == CREATE_BO) {
        const struct create_bo *made = argument;
        created(made->handle, made->size);
    }
    if (!result && number == CREATE_SHADER_BO) {
        const struct create_shader_bo *made = argument;
        created(made->handle, made->size);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
