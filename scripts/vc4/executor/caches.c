/* The caches of the three slices and the one that they share, each replacing the line used longest ago [?].
 *
 * Each slice has two TMUs, and a TMU a cache of 4 KiB in lines of 64 bytes, a microtile [VC4C; ? for its ways]. The 8
 * groups that we run in step are what the 4 QPUs of a slice, with two threads each, work on; QPUs 2 and 3 have the
 * TMUs swapped [AG 40]. So the order of fetches is plausible, and a hit or a miss an estimate. Instructions and
 * uniforms have a cache of 4 KiB each a slice [VC4C; ?], and behind them all lies the second level. */
#include "executor.h"

#include <string.h>

#define SLICES 3
#define LINE 64
#define MOST_WAYS 16
#define MOST_SETS 1024

bool counting_caches;

struct line { uintptr_t address; uint64_t used; };
struct cache { uint32_t sets, ways; uintptr_t last; struct line line[MOST_SETS][MOST_WAYS]; };
static struct cache texture_cache[SLICES][2], code_cache[SLICES], uniform_cache[SLICES], second_level;
static int slice;
static uint64_t clock_of_uses;

static void shape(struct cache *cache, uint32_t bytes, uint32_t ways)
{
    memset(cache, 0, sizeof *cache);
    cache->ways = ways;
    cache->sets = bytes / LINE / ways;
}

/* Sizes in bytes; false where they cannot be. */
bool shape_caches(uint32_t texture_bytes, uint32_t ways, uint32_t second_bytes)
{
    if (!ways || ways > MOST_WAYS || texture_bytes / LINE / ways < 1 || texture_bytes / LINE / ways > MOST_SETS
        || second_bytes / LINE / ways < 1 || second_bytes / LINE / ways > MOST_SETS)
        return false;
    for (int s = 0; s < SLICES; s++) {
        shape(&texture_cache[s][0], texture_bytes, ways);
        shape(&texture_cache[s][1], texture_bytes, ways);
        shape(&code_cache[s], 4096, 4);
        shape(&uniform_cache[s], 4096, 4);
    }
    shape(&second_level, second_bytes, ways);
    counting_caches = true;
    return true;
}

void count_caches(void)
{
    if (!counting_caches)
        shape_caches(4096, 4, 16384);
}

int current_slice(void) { return slice; }
void next_slice(void) { slice = simulating_time ? least_busy_slice() : (slice + 1) % SLICES; }

static bool look_up(struct cache *cache, uintptr_t address)
{
    struct line *set = cache->line[address % cache->sets], *oldest = set;
    for (uint32_t w = 0; w < cache->ways; w++) {
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

/* True where the second level has the line. */
static bool look_further(uintptr_t address)
{
    bool hit = look_up(&second_level, address);
    *(hit ? &counters.second_level_hits : &counters.second_level_misses) += 1;
    return hit;
}

/* The lines that quads touch; a line counts once for each quad. Misses of each group are added to `missed`. */
void count_lines(const uint8_t *base, const uint32_t *offset, int lanes, int tmu, struct missed *missed)
{
    for (int quad = 0; quad < lanes; quad += 4) {
        int unit = tmu ^ (quad / ELEMENTS % 4 >= 2);
        for (int l = 0; l < 4; l++) {
            uintptr_t address = ((uintptr_t)base + offset[quad + l]) / LINE;
            bool seen = false;
            for (int m = 0; m < l; m++)
                seen |= ((uintptr_t)base + offset[quad + m]) / LINE == address;
            if (seen)
                continue;
            if (look_up(&texture_cache[slice][unit], address)) {
                counters.tmu_hits++;
                continue;
            }
            counters.tmu_misses++;
            missed->near[quad / ELEMENTS]++;
            missed->far[quad / ELEMENTS] += !look_further(address);
        }
    }
}

/* A word of a stream: of code or uniforms, which all groups of a batch read in step. True where it is at hand. */
static bool count_word(struct cache *cache, const void *address, uint64_t *hits, uint64_t *misses)
{
    uintptr_t line = (uintptr_t)address / LINE;
    if (line == cache->last || look_up(cache, line)) {
        cache->last = line;
        ++*hits;
        return true;
    }
    cache->last = line;
    ++*misses;
    look_further(line);
    return false;
}

bool count_code(const void *address)
{
    return count_word(&code_cache[slice], address, &counters.code_hits, &counters.code_misses);
}

bool count_uniform(const void *address)
{
    return count_word(&uniform_cache[slice], address, &counters.uniform_hits, &counters.uniform_misses);
}
