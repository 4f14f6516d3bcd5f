/* What was executed, in units that the hardware's own counters have [AG 97; K: DRM_VC4_PERFMON], written as JSON at
 * exit. */
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counters counters;

static char *path_of_counts;
static uint32_t cache_bytes = 4096, cache_ways = 4;

#define COUNT(name) { #name, &counters.name }
static const struct { const char *name; const uint64_t *value; } table[] = {
    COUNT(jobs), COUNT(draws), COUNT(tiles_stored), COUNT(tiles_loaded), COUNT(triangles), COUNT(pixels),
    COUNT(quads),
    COUNT(groups), COUNT(fragment_instructions), COUNT(vertex_instructions), COUNT(uniform_words), COUNT(varyings),
    COUNT(sfu), COUNT(texels),
    COUNT(texture_quads), COUNT(tmu_hits), COUNT(tmu_misses), COUNT(code_bytes), COUNT(lost_flags),
    COUNT(code_hits), COUNT(code_misses), COUNT(uniform_hits), COUNT(uniform_misses), COUNT(second_level_hits),
    COUNT(second_level_misses), COUNT(clocks), COUNT(clocks_computing), COUNT(clocks_moving), COUNT(clocks_waiting),
    COUNT(memory_bytes),
};
#define COUNTED (sizeof table / sizeof *table)

/* For Python, which takes differences; all bits set where there is no such counter. Asking for hits or misses starts
 * their count. */
uint64_t vc4_executor_counter(const char *name)
{
    if (!strncmp(name, "tmu_", 4))
        count_caches();
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
    fprintf(file, " \"tmu_cache_bytes\": %u,\n \"tmu_cache_ways\": %u,\n", cache_bytes, cache_ways);
    fprintf(file, " \"seconds\": %.3f\n}\n", counters.seconds);
    fclose(file);
}

void start_counting(const char *path)
{
    if (!path || !*path)
        return;
    const char *text = getenv("VC4_EXECUTOR_CACHE");
    if (text && *text && sscanf(text, "%u,%u", &cache_bytes, &cache_ways) != 2)
        cache_ways = 0;
    if (!shape_caches(cache_bytes, cache_ways, 16384)) {
        fprintf(stderr, "vc4 executor: VC4_EXECUTOR_CACHE=%s; give bytes,ways such as 4096,4\n", text);
        exit(2);
    }
    path_of_counts = strdup(path);
    atexit(write_counts);
}
