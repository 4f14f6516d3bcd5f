/* What was executed, in units that the hardware's own counters have [AG 97; K: DRM_VC4_PERFMON], written as JSON at
 * exit.
 *
 * Caches: each of 3 slices has two TMUs, and a TMU a cache of 4 KiB in lines of 64 bytes, a microtile [VC4C; ? for
 * its ways and that it replaces the line used longest ago]. The 8 groups that we run in step are what the 4 QPUs of a
 * slice, with two threads each, work on; QPUs 2 and 3 have the TMUs swapped [AG 40]. So the order of fetches is
 * plausible, and a hit or a miss an estimate. */
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 3
#define LINE 64
#define MOST_WAYS 16
#define MOST_SETS 1024

struct counters counters;
bool counting_caches;

struct line { uintptr_t address; uint64_t used; };
static struct line cache[SLICES][2][MOST_SETS][MOST_WAYS];
static uint32_t sets = 16, ways = 4;
static int slice;
static uint64_t clock_of_uses;
static char *path_of_counts;

void next_slice(void) { slice = (slice + 1) % SLICES; }

static bool look_up(struct line *set, uintptr_t address)
{
    struct line *oldest = set;
    for (uint32_t w = 0; w < ways; w++) {
        if (set[w].address == address) {
            set[w].used = ++clock_of_uses;
            return true;
        }
        if (set[w].used < oldest->used)
            oldest = &set[w];
    }
    *oldest = (struct line){ address, ++clock_of_uses };
    return false;
}

/* The lines that quads touch; a line counts once for each quad. */
void count_lines(const uint8_t *base, const uint32_t *offset, int lanes, int tmu)
{
    for (int quad = 0; quad < lanes; quad += 4) {
        int unit = tmu ^ (quad >= lanes / 2);
        for (int l = 0; l < 4; l++) {
            uintptr_t address = ((uintptr_t)base + offset[quad + l]) / LINE;
            bool seen = false;
            for (int m = 0; m < l; m++)
                seen |= ((uintptr_t)base + offset[quad + m]) / LINE == address;
            if (seen)
                continue;
            if (look_up(cache[slice][unit][address % sets], address))
                counters.tmu_hits++;
            else
                counters.tmu_misses++;
        }
    }
}

#define COUNT(name) { #name, &counters.name }
static const struct { const char *name; const uint64_t *value; } table[] = {
    COUNT(jobs), COUNT(draws), COUNT(tiles_stored), COUNT(tiles_loaded), COUNT(triangles), COUNT(pixels),
    COUNT(quads),
    COUNT(groups), COUNT(fragment_instructions), COUNT(vertex_instructions), COUNT(uniform_words), COUNT(varyings),
    COUNT(sfu), COUNT(texels),
    COUNT(texture_quads), COUNT(tmu_hits), COUNT(tmu_misses), COUNT(code_bytes), COUNT(lost_flags),
};
#define COUNTED (sizeof table / sizeof *table)

/* For Python, which takes differences; all bits set where there is no such counter. Asking for hits or misses starts
 * their count. */
uint64_t vc4_executor_counter(const char *name)
{
    counting_caches |= !strncmp(name, "tmu_", 4);
    for (size_t k = 0; k < COUNTED; k++)
        if (!strcmp(name, table[k].name))
            return *table[k].value;
    return ~0ull;
}

static void write_counts(void)
{
    if (!counters.jobs)
        return; /* a shell, or another process that draws nothing, has the variable too */
    FILE *file = fopen(path_of_counts, "w");
    if (!file) {
        fprintf(stderr, "vc4 executor: cannot write %s\n", path_of_counts);
        return;
    }
    fputs("{\n", file);
    for (size_t k = 0; k < COUNTED; k++)
        fprintf(file, " \"%s\": %llu,\n", table[k].name, (unsigned long long)*table[k].value);
    fprintf(file, " \"tmu_cache_bytes\": %u,\n \"tmu_cache_ways\": %u,\n", sets * ways * LINE, ways);
    fprintf(file, " \"seconds\": %.3f\n}\n", counters.seconds);
    fclose(file);
}

void start_counting(const char *path)
{
    if (!path || !*path)
        return;
    const char *text = getenv("VC4_EXECUTOR_CACHE");
    unsigned bytes = 4096, wanted = 4;
    if (text && *text && sscanf(text, "%u,%u", &bytes, &wanted) != 2)
        wanted = 0;
    if (!wanted || wanted > MOST_WAYS || bytes / LINE / wanted < 1 || bytes / LINE / wanted > MOST_SETS) {
        fprintf(stderr, "vc4 executor: VC4_EXECUTOR_CACHE=%s; give bytes,ways such as 4096,4\n", text);
        exit(2);
    }
    ways = wanted;
    sets = bytes / LINE / wanted;
    counting_caches = true;
    path_of_counts = strdup(path);
    atexit(write_counts);
}
