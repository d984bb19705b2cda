/* The patterns of `drawloom-bench tasks`, as every peer submits them.
 *
 * independent   tasks without data
 * chain         each task adds one to the same cell
 * chains64      task i adds one to cell i mod 64
 * readers       every task reads the same cell
 * stencil       16 cells, two generations: a task writes one cell of the new generation and reads the three around it in
 *               the old one, at the ends around the corner
 * roundtrip     a task without data is submitted and waited for, again and again
 *
 * Bodies do next to nothing, but what they do tells whether the tasks ran in the right order: `check_cells` compares what
 * they left behind with what the serial program would have. */
#ifndef DRAWLOOM_PATTERNS_H
#define DRAWLOOM_PATTERNS_H

#include "peer.h"

enum pattern { INDEPENDENT, CHAIN, CHAINS64, READERS, STENCIL, ROUNDTRIP, PATTERNS };

static const char *const pattern_names[PATTERNS] = {"independent", "chain", "chains64", "readers", "stencil", "roundtrip"};

enum { CHAINS = 64, STENCIL_WIDTH = 16, CELLS = 64 };

PEER_UNUSED static enum pattern pattern_named(const char *name)
{
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        if (strcmp(name, pattern_names[pattern]) == 0)
            return (enum pattern)pattern;
    fail("there is no pattern \"%s\"", name);
}

/* A stencil has whole generations only. */
PEER_UNUSED static long tasks_of(enum pattern pattern, long tasks)
{
    if (pattern != STENCIL)
        return tasks;
    return tasks < STENCIL_WIDTH ? STENCIL_WIDTH : tasks / STENCIL_WIDTH * STENCIL_WIDTH;
}

/* Of the two generations of a stencil, which one a step writes: cells 0 to 15, or cells 16 to 31. */
PEER_UNUSED static long generation(long step)
{
    return step % 2 * STENCIL_WIDTH;
}

/* The neighbour of a stencil cell `offset` places to the right, around the corner at the ends. */
PEER_UNUSED static long neighbour(long point, long offset)
{
    return (point + offset + STENCIL_WIDTH) % STENCIL_WIDTH;
}

static inline uint64_t largest(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/* The body of a stencil task: one more than the largest input, so that a generation that ran too early shows. */
static inline void stencil_body(uint64_t *out, const uint64_t *left, const uint64_t *middle, const uint64_t *right)
{
    *out = largest(*left, *middle, *right) + 1;
}

/* Ends the program if the cells do not hold what the tasks should have left in them. Cells start at zero, and so does the
 * generation that step 0 reads. */
PEER_UNUSED static void check_cells(enum pattern pattern, long tasks, const struct cell *cells)
{
    long last = tasks / STENCIL_WIDTH - 1;
    for (long i = 0; i < CELLS; i++) {
        long expected = 0;
        if (pattern == CHAIN)
            expected = i == 0 ? tasks : 0;
        else if (pattern == CHAINS64)
            expected = tasks / CHAINS + (i < tasks % CHAINS);
        else if (pattern == STENCIL && i < 2 * STENCIL_WIDTH)
            expected = i / STENCIL_WIDTH == last % 2 ? last + 1 : last;
        if (cells[i].value != (uint64_t)expected)
            fail("%s: cell %ld holds %llu and should hold %ld", pattern_names[pattern], i,
                 (unsigned long long)cells[i].value, expected);
    }
}

/* The time of one repetition: all of it, and the part until the last submission. */
struct spent {
    double total;
    double submit;
};

/* Keeps the better of two repetitions, by the whole time. */
PEER_UNUSED static void keep_best(struct spent *best, struct spent spent, long repetition)
{
    if (repetition == 0 || spent.total < best->total)
        *best = spent;
}

PEER_UNUSED static void print_tasks_line(const char *peer, enum pattern pattern, long workers, long tasks, struct spent best)
{
    printf("{\"peer\":\"%s\",\"bench\":\"%s\",\"mode\":\"dynamic\",\"workers\":%ld,\"tasks\":%ld,\"ns_per_task\":%.1f,"
           "\"submit_ns_per_task\":%.1f}\n",
           peer, pattern_names[pattern], workers, tasks, best.total * 1e9 / (double)tasks, best.submit * 1e9 / (double)tasks);
}

#endif
