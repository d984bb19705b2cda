/* OpenMP's cost of a task: `openmp_tasks PATTERN WORKERS TASKS REPETITIONS`, tasks with `depend` clauses.
 *
 * The team has WORKERS threads. One of them submits, and executes as well when it waits or when the library thinks that
 * enough tasks are queued; so the time until the last submission contains tasks that were executed meanwhile, and a
 * round trip may never leave its thread. This is how OpenMP is used, and what it is best at. */
#include <omp.h>

#include "patterns.h"

/* A body that compilers cannot see to be empty: they drop a task that does nothing. */
static inline void do_nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

/* So many generations of a stencil are submitted before they are waited for. GCC's library scans all unfinished readers
 * of a cell whenever a task names that cell, and without a bound the cost of a task grows with the number of tasks (80 us
 * for 12,800 tasks on one thread). Waiting is what a user would do about it. */
enum { WINDOW = 16 };

static void submit_pattern(enum pattern pattern, long tasks, struct cell *cells)
{
    switch (pattern) {
    case INDEPENDENT:
        for (long i = 0; i < tasks; i++) {
#pragma omp task
            do_nothing();
        }
        break;
    case CHAIN:
        for (long i = 0; i < tasks; i++) {
#pragma omp task depend(inout : cells[0].value) firstprivate(cells)
            cells[0].value += 1;
        }
        break;
    case CHAINS64:
        for (long i = 0; i < tasks; i++) {
            struct cell *cell = &cells[i % CHAINS];
#pragma omp task depend(inout : cell->value) firstprivate(cell)
            cell->value += 1;
        }
        break;
    case READERS:
        for (long i = 0; i < tasks; i++) {
#pragma omp task depend(in : cells[0].value) firstprivate(cells)
            (void)*(volatile uint64_t *)&cells[0].value;
        }
        break;
    case STENCIL:
        for (long step = 0; step < tasks / STENCIL_WIDTH; step++) {
            if (step % WINDOW == 0) {
#pragma omp taskwait
            }
            struct cell *now = cells + generation(step), *before = cells + generation(step + 1);
            for (long point = 0; point < STENCIL_WIDTH; point++) {
                uint64_t *out = &now[point].value, *middle = &before[point].value;
                uint64_t *left = &before[neighbour(point, -1)].value, *right = &before[neighbour(point, 1)].value;
#pragma omp task depend(out : *out) depend(in : *left, *middle, *right) firstprivate(out, left, middle, right)
                stencil_body(out, left, middle, right);
            }
        }
        break;
    case ROUNDTRIP:
        for (long i = 0; i < tasks; i++) {
#pragma omp task
            do_nothing();
#pragma omp taskwait
        }
        break;
    case PATTERNS:
        break;
    }
}

static struct spent run_once(enum pattern pattern, long tasks)
{
    struct cell *cells = allocate(CELLS, sizeof *cells);
    double start = seconds_now();
    submit_pattern(pattern, tasks, cells);
    double submitted = seconds_now();
#pragma omp taskwait
    double end = seconds_now();
    check_cells(pattern, tasks, cells);
    free(cells);
    return (struct spent){.total = end - start, .submit = submitted - start};
}

int main(int argc, char **argv)
{
    limit_life();
    if (argc != 5)
        fail("usage: openmp_tasks PATTERN WORKERS TASKS REPETITIONS");
    enum pattern pattern = pattern_named(argv[1]);
    long workers = integer(argv[2], "WORKERS", 1, 1024);
    long tasks = tasks_of(pattern, integer(argv[3], "TASKS", 1, 100000000));
    long repetitions = integer(argv[4], "REPETITIONS", 1, 1000);
    omp_set_dynamic(0);
    struct spent best = {0};
#pragma omp parallel num_threads((int)workers)
#pragma omp single
    {
        if (omp_get_num_threads() != (int)workers)
            fail("OpenMP started %d threads and not %ld", omp_get_num_threads(), workers);
        for (long repetition = 0; repetition < repetitions; repetition++)
            keep_best(&best, run_once(pattern, tasks), repetition);
    }
    print_tasks_line("openmp", pattern, workers, tasks, best);
    return 0;
}
