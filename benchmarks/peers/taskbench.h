/* Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance",
 * SC 2020): its dependence patterns and its compute-bound kernel, as Drawloom's own measurement has them.
 *
 * A graph is `steps` rows of at most `width` tasks. A task writes its own cell, (step, point), and reads cells of the row
 * before it: which ones, the pattern says. Every cell is written once, so there is no order but that of the pattern; two
 * rows of cells that take turns would cost GCC's OpenMP ten times as much. The graphs are those of `drawloom-bench metg`,
 * which differ from Task Bench's own in two ways: an input that Task Bench would list twice is listed once, and
 * `random_nearest` picks by a hash of our own. */
#ifndef DRAWLOOM_TASKBENCH_H
#define DRAWLOOM_TASKBENCH_H

#include <stdatomic.h>

#include "peer.h"

enum shape { TRIVIAL, STENCIL_1D, FFT, TREE, NEAREST, SPREAD, RANDOM_NEAREST, SHAPES };

static const char *const shape_names[SHAPES] = {"trivial", "stencil_1d", "fft",           "tree",
                                                "nearest", "spread",     "random_nearest"};

/* RADIX bounds the inputs of a task in every pattern above; PERIOD is the number of different rows of `spread` and
 * `random_nearest`. Both are Task Bench's defaults. */
enum { RADIX = 3, PERIOD = 3 };

struct point {
    long step;
    long point;
    int inputs;
    long input[RADIX];
};

/* What a task leaves in its cell, alone on a cache line. */
struct stamp {
    long step;
    long point;
    char padding[64 - 2 * sizeof(long)];
};

struct bench {
    enum shape shape;
    long width;
    long steps;
    long iterations;
    long tasks;
    struct point *points;
    struct stamp *stamps;
    atomic_long mistakes;
};

PEER_UNUSED static enum shape shape_named(const char *name)
{
    for (int shape = 0; shape < SHAPES; shape++)
        if (strcmp(name, shape_names[shape]) == 0)
            return (enum shape)shape;
    fail("there is no pattern \"%s\"", name);
}

static long at_least(long a, long b)
{
    return a > b ? a : b;
}

static long at_most(long a, long b)
{
    return a < b ? a : b;
}

/* How many tasks a row has. A tree starts with one and doubles. */
static long width_at(enum shape shape, long width, long step)
{
    return shape == TREE ? at_most(width, 1L << at_most(step, 40)) : width;
}

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Whether `random_nearest` has the order from `input` to `point` in rows of this kind: a quarter of the possible ones,
 * picked by a hash of where they are, so that every program picks the same. */
static int picked(long kind, long input, long point)
{
    uint64_t hash = mix(UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)kind);
    return mix(mix(hash ^ (uint64_t)input) ^ (uint64_t)point) % 4 == 0;
}

/* Adds an input that is in the row before and not yet among the inputs, which are in ascending order: in narrow graphs
 * `spread` meets itself. */
static void add_input(struct point *task, long before, long input)
{
    if (input < 0 || input >= before)
        return;
    int at = task->inputs;
    while (at > 0 && task->input[at - 1] > input)
        at--;
    if (at > 0 && task->input[at - 1] == input)
        return;
    memmove(&task->input[at + 1], &task->input[at], (size_t)(task->inputs - at) * sizeof *task->input);
    task->input[at] = input;
    task->inputs++;
}

static void find_inputs(enum shape shape, long width, struct point *task)
{
    task->inputs = 0;
    if (task->step == 0)
        return;
    long before = width_at(shape, width, task->step - 1), point = task->point;
    switch (shape) {
    case TRIVIAL:
        break;
    case STENCIL_1D:
        for (long input = point - 1; input <= point + 1; input++)
            add_input(task, before, input);
        break;
    case FFT: {
        long kinds = 0;
        while ((1L << kinds) < width)
            kinds++;
        long reach = kinds == 0 ? width : 1L << (task->step + kinds - 1) % kinds;
        add_input(task, before, point - reach);
        add_input(task, before, point);
        add_input(task, before, point + reach);
        break;
    }
    case TREE:
        add_input(task, before, point / 2);
        break;
    case NEAREST:
        for (long input = point - RADIX / 2; input <= point + (RADIX - 1) / 2; input++)
            add_input(task, before, input);
        break;
    case SPREAD: {
        long kind = task->step % at_most(PERIOD, (width + RADIX - 1) / RADIX);
        for (long i = 0; i < RADIX; i++)
            add_input(task, before, (point + i * width / RADIX + (i > 0 ? kind : 0)) % width);
        break;
    }
    case RANDOM_NEAREST:
        for (long input = at_least(0, point - RADIX / 2); input <= point + (RADIX - 1) / 2; input++)
            if (input == point || picked(task->step % PERIOD, input, point))
                add_input(task, before, input);
        break;
    case SHAPES:
        break;
    }
}

/* Lays out the whole graph before the clock starts: the work of finding inputs is not the runtime's. */
PEER_UNUSED static struct bench *new_bench(enum shape shape, long width, long steps)
{
    struct bench *bench = allocate(1, sizeof *bench);
    bench->shape = shape;
    bench->width = width;
    bench->steps = steps;
    bench->points = allocate((size_t)width * (size_t)steps, sizeof *bench->points);
    bench->stamps = allocate((size_t)width * (size_t)steps, sizeof *bench->stamps);
    for (long step = 0; step < steps; step++) {
        long row = width_at(shape, width, step);
        for (long point = 0; point < row; point++) {
            struct point *task = &bench->points[step * width + point];
            task->step = step;
            task->point = point;
            find_inputs(shape, width, task);
        }
        bench->tasks += row;
    }
    return bench;
}

/* Task Bench's compute-bound kernel: 64 numbers, and in each iteration x = x * x + x for each of them. The vectors have
 * the size of a cache line, and a compiler splits them where registers are smaller. */
typedef double lanes __attribute__((vector_size(64)));

static double compute(long iterations)
{
    double start = 1.2345;
    /* Nothing is computed beforehand. */
    __asm__ volatile("" : "+m"(start));
    lanes x[8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            x[i][j] = start + (double)(8 * i + j);
    for (long iteration = 0; iteration < iterations; iteration++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            x[i] = x[i] * x[i] + x[i];
    }
    /* Folded by halves: a chain of 64 products would take longer than a small task. */
    lanes product = ((x[0] * x[4]) * (x[2] * x[6])) * ((x[1] * x[5]) * (x[3] * x[7]));
    return ((product[0] * product[4]) * (product[2] * product[6])) * ((product[1] * product[5]) * (product[3] * product[7]));
}

/* The body of a task: looks whether its inputs were there, computes, and leaves its stamp. */
PEER_UNUSED static void run_point(struct bench *bench, const struct point *task)
{
    const struct stamp *before = bench->stamps + (task->step - 1) * bench->width;
    for (int i = 0; i < task->inputs; i++) {
        const struct stamp *input = &before[task->input[i]];
        if (input->step != task->step - 1 || input->point != task->input[i])
            atomic_fetch_add_explicit(&bench->mistakes, 1, memory_order_relaxed);
    }
    double result = compute(bench->iterations);
    /* The result counts as used, and the kernel is computed. */
    __asm__ volatile("" : : "m"(result) : "memory");
    struct stamp *stamp = &bench->stamps[task->step * bench->width + task->point];
    stamp->step = task->step;
    stamp->point = task->point;
}

/* Wipes the stamps, so that those of the last repetition do not pass for new ones. */
PEER_UNUSED static void wipe(struct bench *bench)
{
    for (long i = 0; i < bench->width * bench->steps; i++)
        bench->stamps[i].step = bench->stamps[i].point = -1;
}

/* Ends the program if a task ran before its inputs, or not at all. */
PEER_UNUSED static void check_stamps(struct bench *bench)
{
    long mistakes = atomic_load(&bench->mistakes), ran = 0;
    for (long i = 0; i < bench->width * bench->steps; i++)
        ran += bench->stamps[i].step >= 0;
    if (mistakes != 0 || ran != bench->tasks)
        fail("%s: %ld inputs were not there in time, and %ld of %ld tasks ran", shape_names[bench->shape], mistakes, ran,
             bench->tasks);
}

PEER_UNUSED static void print_metg_line(const char *peer, const struct bench *bench, long workers, double seconds)
{
    printf("{\"peer\":\"%s\",\"pattern\":\"%s\",\"mode\":\"dynamic\",\"workers\":%ld,\"width\":%ld,\"steps\":%ld,"
           "\"iterations\":%ld,\"seconds\":%.9f,\"tasks\":%ld}\n",
           peer, shape_names[bench->shape], workers, bench->width, bench->steps, bench->iterations, seconds, bench->tasks);
}

/* The arguments of every METG program. */
struct metg_arguments {
    struct bench *bench;
    long workers;
    long repetitions;
    int first_iterations;
};

PEER_UNUSED static struct metg_arguments metg_arguments(int argc, char **argv)
{
    if (argc < 7)
        fail("usage: %s PATTERN WORKERS WIDTH STEPS REPETITIONS ITERATIONS...", argv[0]);
    enum shape shape = shape_named(argv[1]);
    struct metg_arguments arguments = {.workers = integer(argv[2], "WORKERS", 1, 1024)};
    long width = integer(argv[3], "WIDTH", 1, 1 << 16), steps = integer(argv[4], "STEPS", 1, 1 << 20);
    if (width * steps > 10000000)
        fail("WIDTH times STEPS takes up to 10000000, and is %ld", width * steps);
    arguments.repetitions = integer(argv[5], "REPETITIONS", 1, 1000);
    arguments.first_iterations = 6;
    arguments.bench = new_bench(shape, width, steps);
    return arguments;
}

#endif
