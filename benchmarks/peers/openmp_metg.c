/* Task Bench over OpenMP: `openmp_metg PATTERN WORKERS WIDTH STEPS REPETITIONS ITERATIONS...`, one line for each number of
 * iterations, the best of REPETITIONS runs.
 *
 * The team has WORKERS threads. One of them submits, and executes when it waits. Orders come from `depend` clauses over the
 * cells of the graph. */
#include <omp.h>

#include "taskbench.h"

static void submit_point(struct bench *bench, struct point *task)
{
    struct stamp *cell = &bench->stamps[task->step * bench->width + task->point];
    struct stamp *input[RADIX] = {NULL};
    int inputs = task->inputs;
    for (int i = 0; i < inputs; i++)
        input[i] = &bench->stamps[(task->step - 1) * bench->width + task->input[i]];
#pragma omp task depend(out : *cell) depend(iterator(i = 0 : inputs), in : *input[i]) firstprivate(bench, task)
    run_point(bench, task);
}

static double run_once(struct bench *bench)
{
    wipe(bench);
    double start = seconds_now();
    for (long step = 0; step < bench->steps; step++)
        for (long point = 0; point < width_at(bench->shape, bench->width, step); point++)
            submit_point(bench, &bench->points[step * bench->width + point]);
#pragma omp taskwait
    double seconds = seconds_now() - start;
    check_stamps(bench);
    return seconds;
}

int main(int argc, char **argv)
{
    limit_life();
    struct metg_arguments arguments = metg_arguments(argc, argv);
    struct bench *bench = arguments.bench;
    omp_set_dynamic(0);
#pragma omp parallel num_threads((int)arguments.workers)
#pragma omp single
    {
        if (omp_get_num_threads() != (int)arguments.workers)
            fail("OpenMP started %d threads and not %ld", omp_get_num_threads(), arguments.workers);
        for (int argument = arguments.first_iterations; argument < argc; argument++) {
            bench->iterations = integer(argv[argument], "ITERATIONS", 0, 1000000000);
            double best = 0;
            for (long repetition = 0; repetition < arguments.repetitions; repetition++) {
                double seconds = run_once(bench);
                if (repetition == 0 || seconds < best)
                    best = seconds;
            }
            print_metg_line("openmp", bench, arguments.workers, best);
        }
    }
    return 0;
}
