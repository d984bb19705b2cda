/* What every peer program needs: a clock, checked arguments, and a way to stop with a message.
 *
 * Each program prints one JSON object a line on standard output and nothing else there. Whatever goes wrong is said on
 * standard error and ends the program with status 1, so that a figure is printed only for work that was really done. */
#ifndef DRAWLOOM_PEER_H
#define DRAWLOOM_PEER_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Not every program uses every function of a header. */
#define PEER_UNUSED __attribute__((unused))

PEER_UNUSED __attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* Ends the program after ten minutes, whatever happens: one that hangs and whose parent is gone would keep cores busy for
 * ever. The first thing that every program does. */
PEER_UNUSED static void limit_life(void)
{
    alarm(600);
}

PEER_UNUSED static double seconds_now(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        fail("no monotonic clock: %s", strerror(errno));
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* An integer argument between two bounds; `name` is what the message calls it. */
PEER_UNUSED static long integer(const char *text, const char *name, long least, long most)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        fail("%s takes %ld to %ld, and is \"%s\"", name, least, most, text);
    return value;
}

/* Memory for `count` items of `size` bytes, aligned to a cache line and zeroed. */
PEER_UNUSED static void *allocate(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        fail("%zu items of %zu bytes are too many", count, size);
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes > 0 ? bytes : 1) != 0)
        fail("no memory for %zu bytes", bytes);
    memset(memory, 0, bytes);
    return memory;
}

/* A value alone on its cache line, so that neighbours do not disturb each other. */
struct cell {
    uint64_t value;
    char padding[64 - sizeof(uint64_t)];
};

#endif
