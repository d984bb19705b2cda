/* Task Bench over StarPU: `starpu_metg PATTERN WORKERS WIDTH STEPS REPETITIONS ITERATIONS...`, one line for each number of
 * iterations, the best of REPETITIONS runs.
 *
 * The thread that runs `main` submits and waits; WORKERS further threads execute. A cell of the graph is a StarPU
 * variable, and orders come from the declared accesses. */
#include "starpu_peer.h"
#include "taskbench.h"

static struct bench *bench;

static void point_task(void *buffers[], void *argument)
{
    (void)buffers;
    run_point(bench, argument);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {point_task}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "point"};

_Static_assert(1 + RADIX <= STARPU_NMAXBUFS, "a task fits without a list of its own");

static void submit_point(struct point *point, starpu_data_handle_t *handles)
{
    struct starpu_task *task = starpu_task_create();
    if (task == NULL)
        fail("starpu_task_create: no memory");
    task->cl = &codelet;
    task->cl_arg = point;
    task->cl_arg_size = sizeof *point;
    task->nbuffers = 1 + point->inputs;
    task->handles[0] = handles[point->step * bench->width + point->point];
    task->modes[0] = STARPU_W;
    for (int i = 0; i < point->inputs; i++) {
        task->handles[1 + i] = handles[(point->step - 1) * bench->width + point->input[i]];
        task->modes[1 + i] = STARPU_R;
    }
    require(starpu_task_submit(task), "starpu_task_submit");
}

static double run_once(starpu_data_handle_t *handles)
{
    wipe(bench);
    double start = seconds_now();
    for (long step = 0; step < bench->steps; step++)
        for (long point = 0; point < width_at(bench->shape, bench->width, step); point++)
            submit_point(&bench->points[step * bench->width + point], handles);
    require(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    double seconds = seconds_now() - start;
    check_stamps(bench);
    return seconds;
}

int main(int argc, char **argv)
{
    limit_life();
    struct metg_arguments arguments = metg_arguments(argc, argv);
    bench = arguments.bench;
    start_starpu(arguments.workers);
    long cells = bench->width * bench->steps;
    starpu_data_handle_t *handles = allocate((size_t)cells, sizeof *handles);
    for (long i = 0; i < cells; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&bench->stamps[i], sizeof bench->stamps[i]);
    for (int argument = arguments.first_iterations; argument < argc; argument++) {
        bench->iterations = integer(argv[argument], "ITERATIONS", 0, 1000000000);
        double best = 0;
        for (long repetition = 0; repetition < arguments.repetitions; repetition++) {
            double seconds = run_once(handles);
            if (repetition == 0 || seconds < best)
                best = seconds;
        }
        print_metg_line("starpu", bench, arguments.workers, best);
    }
    for (long i = 0; i < cells; i++)
        starpu_data_unregister(handles[i]);
    starpu_shutdown();
    return 0;
}
