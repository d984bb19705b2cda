/* The Cholesky problem as every peer factors it: a symmetric positive definite matrix made from a fixed sequence, the
 * error of a factor, and the rate. Matrices are column-major. */
#ifndef DRAWLOOM_CHOLESKY_H
#define DRAWLOOM_CHOLESKY_H

#include <cblas.h>
#include <math.h>

#include "peer.h"

enum { LARGEST_N = 32768 };

/* LAPACK's factorisation, which OpenBLAS contains. */
extern void dpotrf_(const char *uplo, const blasint *n, double *a, const blasint *lda, blasint *info);

/* Factors the lower triangle of an n by n matrix in place, or ends the program. */
PEER_UNUSED static void factor(blasint n, double *a, blasint lda)
{
    blasint info = 0;
    dpotrf_("L", &n, a, &lda, &info);
    if (info != 0)
        fail("dpotrf: %d", (int)info);
}

/* Numbers between -1/2 and 1/2 from a fixed sequence, symmetric, and n added on the diagonal, which makes the matrix
 * positive definite. */
PEER_UNUSED static double *new_matrix(long n)
{
    double *a = allocate((size_t)n * (size_t)n, sizeof *a);
    uint64_t state = 1;
    for (long column = 0; column < n; column++)
        for (long row = column; row < n; row++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            double value = (double)(state >> 11) * 0x1p-53 - 0.5;
            a[row + column * n] = a[column + row * n] = value + (row == column ? (double)n : 0.0);
        }
    return a;
}

/* The largest element of A - L L^T in the lower triangle, divided by the largest of A. Overwrites both arguments. */
PEER_UNUSED static double relative_error(long n, double *a, double *l)
{
    double largest_a = 0, largest_difference = 0;
    for (long column = 0; column < n; column++)
        for (long row = column; row < n; row++)
            largest_a = fmax(largest_a, fabs(a[row + column * n]));
    for (long column = 1; column < n; column++)
        for (long row = 0; row < column; row++)
            l[row + column * n] = 0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)n, -1.0, l, (blasint)n, 1.0, a, (blasint)n);
    for (long column = 0; column < n; column++)
        for (long row = column; row < n; row++) {
            double difference = fabs(a[row + column * n]);
            /* A comparison with a NaN is false: it must count as the largest difference, not as none. */
            if (!(difference <= largest_difference))
                largest_difference = difference;
        }
    double error = largest_difference / largest_a;
    if (!(error < 1e-8))
        fail("the factor is wrong: relative error %g", error);
    return error;
}

/* A factorisation has n^3 / 3 operations and lower terms, which are not counted. */
PEER_UNUSED static double gflops(long n, double seconds)
{
    return (double)n * (double)n * (double)n / 3.0 / seconds * 1e-9;
}

#endif
