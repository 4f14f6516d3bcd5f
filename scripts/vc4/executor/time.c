/* Clocks of the GPU: what happens on 12 QPUs when, from the events of the programs that ran.
 *
 * A QPU has two threads, which take turns where the program says so and not where one waits [AG 19]. A fetch goes to
 * one of the slice's two TMUs, which works on one after the other; its result comes after a latency, longer where a
 * cache misses, and a thread that takes it earlier waits, and its QPU with it. Groups of pixels start as soon as a QPU
 * is free. What a job moves to and from memory sets the least time that it can take.
 *
 * What is not published is a parameter. Each of the three sets takes all of them on one side: `low` what the sources
 * say at best, `high` what they say at worst, `middle` between. A board's counters are to choose [videocore.md].
 */
#include "executor.h"

#include <stdlib.h>
#include <string.h>

#define QPUS 4 /* of a slice */
#define INSTRUCTION 4u /* clocks [AG 16] */
#define TILE_BYTES (TILE * TILE * 4u)
#define LINE_BYTES 64u

static const struct parameters {
    const char *name;
    unsigned quad;          /* clocks of a TMU for a quad: 1.5 G texels a second are published, 1 a clock and TMU */
    unsigned hit;           /* clocks until a result comes: 9 instructions [VC4C's emulator, low] */
    unsigned near_miss;     /* more of them where the second level has the line: 3 instructions [VC4C, low] */
    unsigned far_miss;      /* more of them where memory has it: 8 instructions [VC4C, low] */
    unsigned fill;          /* clocks of a TMU to take in a line */
    unsigned code_miss;     /* clocks that a QPU waits for a line of code */
    unsigned second_bytes;  /* of the second level: 32 KiB [VC4C], 16 KiB [raspberrypi/firmware, issue 1461] */
    double memory;          /* bytes a clock at 250 MHz: 3/4 of the 3.2 GB/s of the LPDDR2; what DMA reads, 690 MB/s */
} sets[] = {
    { "low", 4, 36, 12, 32, 2, 0, 32768, 9.6 },
    { "middle", 4, 60, 24, 64, 4, 12, 16384, 5.6 },
    { "high", 4, 100, 48, 160, 8, 48, 16384, 2.8 },
};
static const struct parameters *chosen;
bool simulating_time;

/* Events of a program, the same for all groups of a batch but for their misses. */
enum what { RUN, ASK, TAKE, SWITCH, END };
struct event { uint8_t what, unit; uint32_t count; struct missed missed; };
static struct event *events;
static size_t event_count, event_room;

static uint64_t qpu_time[3][QPUS], tmu_time[3][2]; /* since the job's start */

bool choose_time(const char *word)
{
    simulating_time = false;
    if (!strcmp(word, "off"))
        return true;
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        if (!strcmp(word, sets[k].name)) {
            chosen = &sets[k];
            simulating_time = shape_caches(4096, 4, chosen->second_bytes);
        }
    return simulating_time;
}

static struct event *add(enum what what, int unit)
{
    if (event_count == event_room) {
        event_room = event_room ? 2 * event_room : 4096;
        events = realloc(events, event_room * sizeof *events);
    }
    struct event *event = &events[event_count++];
    *event = (struct event){ .what = (uint8_t)what, .unit = (uint8_t)unit };
    return event;
}

void time_starts(void) { event_count = 0; }

void time_instruction(bool code_at_hand)
{
    struct event *last = event_count && events[event_count - 1].what == RUN ? &events[event_count - 1] : add(RUN, 0);
    last->count += INSTRUCTION + (code_at_hand ? 0 : chosen->code_miss);
}

void time_fetch(int unit, const struct missed *missed) { add(ASK, unit)->missed = *missed; }
void time_taken(int unit) { add(TAKE, unit); }
void time_switch(void) { add(SWITCH, 0); }

/* A thread's place in the events, and when the results come that it waits for. */
#define MOST_WAITING 8
struct thread { size_t at; unsigned asked[2], taken[2]; uint64_t ready[2][MOST_WAITING]; bool done; };

static void ask(struct thread *thread, const struct event *event, int group, int slice, int qpu)
{
    unsigned near = event->missed.near[group], far = event->missed.far[group];
    int unit = event->unit ^ (qpu >= 2);
    uint64_t *tmu = &tmu_time[slice][unit], begin = *tmu > qpu_time[slice][qpu] ? *tmu : qpu_time[slice][qpu];
    *tmu = begin + ELEMENTS / 4 * chosen->quad + near * chosen->fill;
    uint64_t latency = chosen->hit + (near ? chosen->near_miss : 0) + (far ? chosen->far_miss : 0);
    thread->ready[event->unit][thread->asked[event->unit]++ % MOST_WAITING] = *tmu + latency;
}

/* Let a QPU do one event of the thread that has it; false where none is left. */
static bool step(struct thread *of_qpu[2], const int groups[2], int *turn, int slice, int qpu)
{
    struct thread *thread = of_qpu[*turn];
    uint64_t *now = &qpu_time[slice][qpu];
    const struct event *event = &events[thread->at++];
    bool switches_now = event->what == SWITCH || event->what == END;
    if (event->what == RUN)
        *now += event->count;
    else if (event->what == ASK)
        ask(thread, event, groups[*turn], slice, qpu);
    else if (event->what == TAKE) {
        uint64_t ready = thread->ready[event->unit][thread->taken[event->unit]++ % MOST_WAITING];
        counters.clocks_waiting += ready > *now ? ready - *now : 0;
        *now = ready > *now ? ready : *now;
    }
    thread->done = event->what == END;
    struct thread *other = of_qpu[!*turn];
    if (switches_now && other && !other->done)
        *turn = !*turn;
    return !of_qpu[*turn]->done;
}

/* All groups have run the program: place its events in time. One thread: a QPU takes its second group after the first. */
void time_ends(int groups, bool two_threads)
{
    static struct thread threads[GROUPS];
    int slice = current_slice();
    add(END, 0);
    memset(threads, 0, sizeof threads);
    for (int round = 0; round < (two_threads ? 1 : 2); round++) {
        struct thread *of_qpu[QPUS][2];
        int number[QPUS][2], turn[QPUS] = { 0 };
        bool busy[QPUS];
        for (int q = 0; q < QPUS; q++)
            for (int t = 0; t < 2; t++) {
                int group = q + QPUS * (two_threads ? t : round);
                bool has = group < groups && (two_threads || t == 0);
                of_qpu[q][t] = has ? &threads[group] : NULL;
                number[q][t] = group;
                busy[q] = t ? busy[q] : has;
            }
        for (;;) {
            int next = -1;
            for (int q = 0; q < QPUS; q++)
                if (busy[q] && (next < 0 || qpu_time[slice][q] < qpu_time[slice][next]))
                    next = q;
            if (next < 0)
                break;
            busy[next] = step(of_qpu[next], number[next], &turn[next], slice, next);
        }
    }
}

/* The slice whose processors are free first: the next groups go there. */
int least_busy_slice(void)
{
    int least = 0;
    uint64_t busy[3] = { 0 };
    for (int s = 0; s < 3; s++) {
        for (int q = 0; q < QPUS; q++)
            busy[s] += qpu_time[s][q];
        least = busy[s] < busy[least] ? s : least;
    }
    return least;
}

/* A job has been drawn: add what it took. */
void time_job(const struct counters *before, const struct counters *after)
{
    uint64_t last = 0;
    for (int s = 0; s < 3; s++)
        for (int q = 0; q < QPUS; q++)
            last = qpu_time[s][q] > last ? qpu_time[s][q] : last;
    uint64_t bytes = LINE_BYTES * (after->second_level_misses - before->second_level_misses)
        + TILE_BYTES * (after->tiles_stored - before->tiles_stored + after->tiles_loaded - before->tiles_loaded);
    uint64_t moving = (uint64_t)((double)bytes / chosen->memory);
    counters.clocks += last > moving ? last : moving;
    counters.clocks_computing += last;
    counters.clocks_moving += moving;
    counters.memory_bytes += bytes;
    memset(qpu_time, 0, sizeof qpu_time);
    memset(tmu_time, 0, sizeof tmu_time);
}
