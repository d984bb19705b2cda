/* OpenBLAS's own parallel Cholesky factorisation: `openblas_potrf N THREADS REPETITIONS`, the best of REPETITIONS runs
 * after one that is not counted. */
#include "cholesky.h"

int main(int argc, char **argv)
{
    limit_life();
    if (argc != 4)
        fail("usage: openblas_potrf N THREADS REPETITIONS");
    long n = integer(argv[1], "N", 1, LARGEST_N);
    long threads = integer(argv[2], "THREADS", 1, 1024);
    long repetitions = integer(argv[3], "REPETITIONS", 1, 1000);
    openblas_set_num_threads((int)threads);
    double *a = new_matrix(n), *l = allocate((size_t)n * (size_t)n, sizeof *l), best = 0;
    for (long repetition = -1; repetition < repetitions; repetition++) {
        memcpy(l, a, (size_t)n * (size_t)n * sizeof *l);
        double start = seconds_now();
        factor((blasint)n, l, (blasint)n);
        double seconds = seconds_now() - start;
        if (repetition == 0 || (repetition > 0 && seconds < best))
            best = seconds;
    }
    double error = relative_error(n, a, l);
    printf("{\"peer\":\"openblas\",\"n\":%ld,\"threads\":%ld,\"seconds\":%.9f,\"gflops\":%.3f,\"max_error\":%.3e}\n", n,
           threads, best, gflops(n, best), error);
    return 0;
}
