/* Performance monitors, as the kernel offers them [K: DRM_VC4_PERFMON_CREATE, _DESTROY, _GET_VALUES]: up to 16 of the
 * hardware's 30 counters [AG 97], summed over the jobs that name the monitor. Mesa turns them into
 * GL_AMD_performance_monitor, which `glsl-infer report` reads on a board. Here they hold what was executed.
 *
 * A monitor with an event that is not counted here cannot be created: nothing stands for a number that nobody knows. */
#include "executor.h"

#include <errno.h>
#include <string.h>

enum { MOST_MONITORS = 64, MOST_EVENTS = 16 };
struct create { uint32_t id, count; uint8_t events[MOST_EVENTS]; };
struct values { uint32_t id; uint64_t address; };

/* Numbers of events [K: enum drm_vc4_perfmon counters]. */
enum event { VALID_PRIMITIVES = 1, VALID_QUADS = 3, COLOR_QUADS = 9, EXECUTING = 16, TEXTURE_QUADS = 24, TEXTURE_MISSES = 25 };
#define CLOCKS_OF_AN_INSTRUCTION 4u /* [AG 16] */

static struct monitor { uint32_t count; uint8_t events[MOST_EVENTS]; uint64_t sums[MOST_EVENTS]; } monitors[MOST_MONITORS];

static bool value_of(uint8_t event, const struct counters *from, uint64_t *value)
{
    switch ((enum event)event) {
    case VALID_PRIMITIVES: *value = from->triangles; return true;
    case VALID_QUADS: *value = from->quads; return true;
    case COLOR_QUADS: *value = from->quads; return true; /* no depth, no stencil: every quad with a pixel is written */
    case EXECUTING:
        *value = CLOCKS_OF_AN_INSTRUCTION * (from->fragment_instructions + from->vertex_instructions);
        return true;
    case TEXTURE_QUADS: *value = from->texture_quads; return true;
    case TEXTURE_MISSES: *value = from->tmu_misses; return true;
    }
    return false;
}

int create_monitor(void *argument)
{
    struct create *create = argument;
    struct counters none = { 0 };
    uint64_t unused;
    if (create->count < 1 || create->count > MOST_EVENTS)
        return EINVAL;
    for (uint32_t k = 0; k < create->count; k++)
        if (!value_of(create->events[k], &none, &unused))
            return EINVAL;
    for (uint32_t id = 1; id < MOST_MONITORS; id++)
        if (!monitors[id].count) {
            monitors[id] = (struct monitor){ .count = create->count };
            memcpy(monitors[id].events, create->events, create->count);
            count_caches();
            create->id = id;
            return 0;
        }
    return ENOMEM;
}

static struct monitor *monitor_of(uint32_t id)
{
    return id && id < MOST_MONITORS && monitors[id].count ? &monitors[id] : NULL;
}

int destroy_monitor(const void *argument)
{
    struct monitor *monitor = monitor_of(*(const uint32_t *)argument);
    if (!monitor)
        return EINVAL;
    monitor->count = 0;
    return 0;
}

int monitor_values(const void *argument)
{
    const struct values *values = argument;
    const struct monitor *monitor = monitor_of(values->id);
    if (!monitor)
        return EINVAL;
    memcpy((void *)(uintptr_t)values->address, monitor->sums, monitor->count * sizeof *monitor->sums);
    return 0;
}

/* Add what a job has counted; both are totals, from before and after it. */
void monitor_job(uint32_t id, const struct counters *before, const struct counters *after)
{
    struct monitor *monitor = monitor_of(id);
    if (id && !monitor)
        broken("a job names a performance monitor that was not created", id);
    for (uint32_t k = 0; monitor && k < monitor->count; k++) {
        uint64_t first = 0, last = 0;
        value_of(monitor->events[k], before, &first);
        value_of(monitor->events[k], after, &last);
        monitor->sums[k] += last - first;
    }
}
