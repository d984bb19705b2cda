/* Tiled Cholesky over StarPU with the kernels of OpenBLAS on one thread each:
 * `starpu_cholesky N TILE WORKERS REPETITIONS`, the best of REPETITIONS runs after one that is not counted.
 *
 * A tile is contiguous, and the last ones of a row or column are smaller where TILE does not divide N. Tasks are submitted
 * column by column (right-looking), with the priorities of the critical path. */
#include "cholesky.h"
#include "starpu_peer.h"

struct tile {
    double *values;
    blasint rows, columns;
};

static struct tile tile_of(void *buffer)
{
    return (struct tile){.values = (double *)STARPU_MATRIX_GET_PTR(buffer),
                         .rows = (blasint)STARPU_MATRIX_GET_NX(buffer),
                         .columns = (blasint)STARPU_MATRIX_GET_NY(buffer)};
}

static void potrf_task(void *buffers[], void *argument)
{
    (void)argument;
    struct tile a = tile_of(buffers[0]);
    factor(a.rows, a.values, a.rows);
}

/* B := B L^-T */
static void trsm_task(void *buffers[], void *argument)
{
    (void)argument;
    struct tile l = tile_of(buffers[0]), b = tile_of(buffers[1]);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b.rows, b.columns, 1.0, l.values, l.rows,
                b.values, b.rows);
}

/* C := C - A A^T */
static void syrk_task(void *buffers[], void *argument)
{
    (void)argument;
    struct tile a = tile_of(buffers[0]), c = tile_of(buffers[1]);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, -1.0, a.values, a.rows, 1.0, c.values, c.rows);
}

/* C := C - A B^T */
static void gemm_task(void *buffers[], void *argument)
{
    (void)argument;
    struct tile a = tile_of(buffers[0]), b = tile_of(buffers[1]), c = tile_of(buffers[2]);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0, a.values, a.rows, b.values,
                b.rows, 1.0, c.values, c.rows);
}

static struct starpu_codelet potrf = {.cpu_funcs = {potrf_task}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "potrf"};
static struct starpu_codelet trsm = {
    .cpu_funcs = {trsm_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "trsm"};
static struct starpu_codelet syrk = {
    .cpu_funcs = {syrk_task}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "syrk"};
static struct starpu_codelet gemm = {
    .cpu_funcs = {gemm_task}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}, .name = "gemm"};

/* The lower triangle of a matrix, in tiles. Tile (row, column) is at row * side + column. */
struct tiles {
    long n, tile, side;
    double **values;
    starpu_data_handle_t *handles;
};

static long rows_of(const struct tiles *tiles, long row)
{
    return row + 1 < tiles->side ? tiles->tile : tiles->n - row * tiles->tile;
}

static struct tiles new_tiles(long n, long tile)
{
    struct tiles tiles = {.n = n, .tile = tile, .side = (n + tile - 1) / tile};
    size_t count = (size_t)tiles.side * (size_t)tiles.side;
    tiles.values = allocate(count, sizeof *tiles.values);
    tiles.handles = allocate(count, sizeof *tiles.handles);
    for (long row = 0; row < tiles.side; row++)
        for (long column = 0; column <= row; column++) {
            long at = row * tiles.side + column, rows = rows_of(&tiles, row), columns = rows_of(&tiles, column);
            tiles.values[at] = allocate((size_t)rows * (size_t)columns, sizeof(double));
            starpu_matrix_data_register(&tiles.handles[at], STARPU_MAIN_RAM, (uintptr_t)tiles.values[at], (uint32_t)rows,
                                        (uint32_t)rows, (uint32_t)columns, sizeof(double));
        }
    return tiles;
}

enum direction { INTO_TILES, OUT_OF_TILES };

/* Copies between a whole matrix and the tiles. No task is in flight, and the tiles are in main memory only. */
static void copy_tiles(const struct tiles *tiles, double *whole, enum direction direction)
{
    for (long row = 0; row < tiles->side; row++)
        for (long column = 0; column <= row; column++) {
            size_t rows = (size_t)rows_of(tiles, row);
            for (long c = 0; c < rows_of(tiles, column); c++) {
                double *in_tile = tiles->values[row * tiles->side + column] + (size_t)c * rows;
                double *in_whole = whole + row * tiles->tile + (column * tiles->tile + c) * tiles->n;
                if (direction == INTO_TILES)
                    memcpy(in_tile, in_whole, rows * sizeof(double));
                else
                    memcpy(in_whole, in_tile, rows * sizeof(double));
            }
        }
}

/* The tile (row, column) of the matrix, as a task names it. */
struct place {
    long row, column;
};

static void submit(const struct tiles *tiles, struct starpu_codelet *codelet, int priority, const struct place *places)
{
    struct starpu_task *task = starpu_task_create();
    if (task == NULL)
        fail("starpu_task_create: no memory");
    task->cl = codelet;
    task->priority = priority;
    for (int i = 0; i < codelet->nbuffers; i++)
        task->handles[i] = tiles->handles[places[i].row * tiles->side + places[i].column];
    require(starpu_task_submit(task), "starpu_task_submit");
}

static long submit_all(const struct tiles *tiles)
{
    long tasks = 0, side = tiles->side;
    for (long k = 0; k < side; k++) {
        /* Policies without priorities ignore them; the others have few levels unless told otherwise. */
        submit(tiles, &potrf, STARPU_MAX_PRIO, (struct place[]){{k, k}});
        tasks++;
        for (long i = k + 1; i < side; i++) {
            submit(tiles, &trsm, i == k + 1 ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO, (struct place[]){{k, k}, {i, k}});
            tasks++;
        }
        for (long j = k + 1; j < side; j++) {
            submit(tiles, &syrk, j == k + 1 ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO, (struct place[]){{j, k}, {j, j}});
            tasks++;
            for (long i = j + 1; i < side; i++) {
                submit(tiles, &gemm, STARPU_DEFAULT_PRIO, (struct place[]){{i, k}, {j, k}, {i, j}});
                tasks++;
            }
        }
    }
    return tasks;
}

int main(int argc, char **argv)
{
    limit_life();
    if (argc != 5)
        fail("usage: starpu_cholesky N TILE WORKERS REPETITIONS");
    long n = integer(argv[1], "N", 1, LARGEST_N), tile = integer(argv[2], "TILE", 1, n);
    long workers = integer(argv[3], "WORKERS", 1, 1024), repetitions = integer(argv[4], "REPETITIONS", 1, 1000);
    openblas_set_num_threads(1);
    start_starpu(workers);
    double *whole = new_matrix(n), best = 0;
    struct tiles tiles = new_tiles(n, tile);
    long tasks = 0;
    for (long repetition = -1; repetition < repetitions; repetition++) {
        copy_tiles(&tiles, whole, INTO_TILES);
        double start = seconds_now();
        tasks = submit_all(&tiles);
        require(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
        double seconds = seconds_now() - start;
        if (repetition == 0 || (repetition > 0 && seconds < best))
            best = seconds;
    }
    for (long i = 0; i < tiles.side * tiles.side; i++)
        if (tiles.handles[i] != NULL)
            starpu_data_unregister(tiles.handles[i]);
    starpu_shutdown();
    double *factored = allocate((size_t)n * (size_t)n, sizeof *factored);
    copy_tiles(&tiles, factored, OUT_OF_TILES);
    openblas_set_num_threads((int)workers);
    double error = relative_error(n, whole, factored);
    printf("{\"peer\":\"starpu\",\"n\":%ld,\"tile\":%ld,\"workers\":%ld,\"tasks\":%ld,\"seconds\":%.9f,\"gflops\":%.3f,"
           "\"max_error\":%.3e}\n",
           n, tile, workers, tasks, best, gflops(n, best), error);
    return 0;
}
