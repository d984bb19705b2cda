/* StarPU's cost of a task: `starpu_tasks PATTERN WORKERS TASKS REPETITIONS`, public API only.
 *
 * The thread that runs `main` submits and waits; WORKERS further threads execute. Orders come from the declared accesses
 * (implicit data dependencies), as in Drawloom's dynamic mode. Besides the patterns of patterns.h:
 *
 * startup   the best time of starpu_init and of starpu_shutdown
 * idle      the processor time that a started runtime uses in a second in which it has nothing to do
 * memory    the heap that a waiting task takes: one access each, behind a first task that is held up */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "patterns.h"
#include "starpu_peer.h"

static uint64_t *cell_of(void *buffer)
{
    return (uint64_t *)STARPU_VARIABLE_GET_PTR(buffer);
}

static void do_nothing(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}

static void add_one(void *buffers[], void *argument)
{
    (void)argument;
    *cell_of(buffers[0]) += 1;
}

static void read_one(void *buffers[], void *argument)
{
    (void)argument;
    (void)*(volatile uint64_t *)cell_of(buffers[0]);
}

static void stencil_task(void *buffers[], void *argument)
{
    (void)argument;
    stencil_body(cell_of(buffers[0]), cell_of(buffers[1]), cell_of(buffers[2]), cell_of(buffers[3]));
}

/* Keeps its chain waiting until everything behind it was submitted. */
static atomic_bool released;

static void wait_for_release(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
    while (!atomic_load_explicit(&released, memory_order_acquire)) {
        struct timespec moment = {.tv_sec = 0, .tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
}

static struct starpu_codelet empty = {.cpu_funcs = {do_nothing}, .nbuffers = 0, .name = "empty"};
static struct starpu_codelet increment = {
    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "increment"};
static struct starpu_codelet look = {.cpu_funcs = {read_one}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
static struct starpu_codelet stencil = {.cpu_funcs = {stencil_task},
                                        .nbuffers = 4,
                                        .modes = {STARPU_W, STARPU_R, STARPU_R, STARPU_R},
                                        .name = "stencil"};
static struct starpu_codelet hold = {
    .cpu_funcs = {wait_for_release}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "hold"};

static struct starpu_task *new_task(struct starpu_codelet *codelet)
{
    struct starpu_task *task = starpu_task_create();
    if (task == NULL)
        fail("starpu_task_create: no memory");
    task->cl = codelet;
    return task;
}

static void submit(struct starpu_task *task)
{
    require(starpu_task_submit(task), "starpu_task_submit");
}

static void submit_over(struct starpu_codelet *codelet, starpu_data_handle_t handle)
{
    struct starpu_task *task = new_task(codelet);
    task->handles[0] = handle;
    submit(task);
}

static void submit_pattern(enum pattern pattern, long tasks, starpu_data_handle_t *handles)
{
    switch (pattern) {
    case INDEPENDENT:
        for (long i = 0; i < tasks; i++)
            submit(new_task(&empty));
        break;
    case CHAIN:
        for (long i = 0; i < tasks; i++)
            submit_over(&increment, handles[0]);
        break;
    case CHAINS64:
        for (long i = 0; i < tasks; i++)
            submit_over(&increment, handles[i % CHAINS]);
        break;
    case READERS:
        for (long i = 0; i < tasks; i++)
            submit_over(&look, handles[0]);
        break;
    case STENCIL:
        for (long step = 0; step < tasks / STENCIL_WIDTH; step++) {
            starpu_data_handle_t *now = handles + generation(step), *before = handles + generation(step + 1);
            for (long point = 0; point < STENCIL_WIDTH; point++) {
                struct starpu_task *task = new_task(&stencil);
                task->handles[0] = now[point];
                task->handles[1] = before[neighbour(point, -1)];
                task->handles[2] = before[point];
                task->handles[3] = before[neighbour(point, 1)];
                submit(task);
            }
        }
        break;
    case ROUNDTRIP:
        for (long i = 0; i < tasks; i++) {
            struct starpu_task *task = new_task(&empty);
            task->detach = 0;
            submit(task);
            require(starpu_task_wait(task), "starpu_task_wait");
        }
        break;
    case PATTERNS:
        break;
    }
}

static struct spent run_once(enum pattern pattern, long tasks)
{
    struct cell *cells = allocate(CELLS, sizeof *cells);
    starpu_data_handle_t handles[CELLS];
    for (long i = 0; i < CELLS; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&cells[i].value, sizeof cells[i].value);
    double start = seconds_now();
    submit_pattern(pattern, tasks, handles);
    double submitted = seconds_now();
    require(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    double end = seconds_now();
    for (long i = 0; i < CELLS; i++)
        starpu_data_unregister(handles[i]);
    check_cells(pattern, tasks, cells);
    free(cells);
    return (struct spent){.total = end - start, .submit = submitted - start};
}

static void measure_pattern(enum pattern pattern, long workers, long tasks, long repetitions)
{
    start_starpu(workers);
    tasks = tasks_of(pattern, tasks);
    struct spent best = {0};
    for (long repetition = 0; repetition < repetitions; repetition++)
        keep_best(&best, run_once(pattern, tasks), repetition);
    starpu_shutdown();
    print_tasks_line("starpu", pattern, workers, tasks, best);
}

static void measure_startup(long workers, long repetitions)
{
    double init = 0, shutdown = 0;
    for (long repetition = 0; repetition < repetitions; repetition++) {
        double start = seconds_now();
        start_starpu(workers);
        double started = seconds_now();
        starpu_shutdown();
        double end = seconds_now();
        if (repetition == 0 || started - start < init)
            init = started - start;
        if (repetition == 0 || end - started < shutdown)
            shutdown = end - started;
    }
    printf("{\"peer\":\"starpu\",\"bench\":\"startup\",\"workers\":%ld,\"startup_ms\":%.3f,\"shutdown_ms\":%.3f}\n", workers,
           init * 1e3, shutdown * 1e3);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        fail("getrusage: %s", strerror(errno));
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void rest(double seconds)
{
    double end = seconds_now() + seconds;
    for (double left = seconds; left > 0; left = end - seconds_now()) {
        struct timespec moment = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&moment, NULL);
    }
}

static void measure_idle(long workers)
{
    start_starpu(workers);
    submit(new_task(&empty));
    require(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    /* Whatever workers do before they settle is over after this. */
    rest(0.3);
    double cpu = cpu_seconds(), start = seconds_now();
    rest(1.0);
    double cores = (cpu_seconds() - cpu) / (seconds_now() - start);
    starpu_shutdown();
    printf("{\"peer\":\"starpu\",\"bench\":\"idle\",\"workers\":%ld,\"idle_cores\":%.3f}\n", workers, cores);
}

static void measure_memory(long workers, long tasks)
{
    start_starpu(workers);
    uint64_t value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    submit_over(&hold, handle);
    size_t before = mallinfo2().uordblks;
    for (long i = 0; i < tasks; i++)
        submit_over(&increment, handle);
    size_t after = mallinfo2().uordblks;
    atomic_store_explicit(&released, true, memory_order_release);
    require(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    starpu_data_unregister(handle);
    starpu_shutdown();
    if (value != (uint64_t)tasks)
        fail("memory: %llu of %ld tasks ran", (unsigned long long)value, tasks);
    printf("{\"peer\":\"starpu\",\"bench\":\"memory\",\"workers\":%ld,\"tasks\":%ld,\"bytes_per_task\":%.1f,"
           "\"task_struct_bytes\":%zu}\n",
           workers, tasks, (double)(after - before) / (double)tasks, sizeof(struct starpu_task));
}

int main(int argc, char **argv)
{
    limit_life();
    if (argc != 5)
        fail("usage: starpu_tasks PATTERN|startup|idle|memory WORKERS TASKS REPETITIONS");
    long workers = integer(argv[2], "WORKERS", 1, 1024);
    long tasks = integer(argv[3], "TASKS", 1, 100000000);
    long repetitions = integer(argv[4], "REPETITIONS", 1, 1000);
    if (strcmp(argv[1], "startup") == 0)
        measure_startup(workers, repetitions);
    else if (strcmp(argv[1], "idle") == 0)
        measure_idle(workers);
    else if (strcmp(argv[1], "memory") == 0)
        measure_memory(workers, tasks);
    else
        measure_pattern(pattern_named(argv[1]), workers, tasks, repetitions);
    return 0;
}
