/* Starting StarPU with exactly so many CPU workers, whatever the environment says. */
#ifndef DRAWLOOM_STARPU_PEER_H
#define DRAWLOOM_STARPU_PEER_H

#include <starpu.h>

#include "peer.h"

/* Ends the program when a StarPU call failed. */
PEER_UNUSED static void require(int result, const char *call)
{
    if (result != 0)
        fail("%s: %s", call, strerror(result < 0 ? -result : result));
}

PEER_UNUSED static void start_starpu(long workers)
{
    struct starpu_conf conf;
    require(starpu_conf_init(&conf), "starpu_conf_init");
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = (int)workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    /* Locality-aware work stealing is StarPU's default for tasks without performance models. */
    conf.sched_policy_name = "lws";
    require(starpu_init(&conf), "starpu_init");
    if (starpu_cpu_worker_get_count() != (unsigned)workers)
        fail("StarPU started %u CPU workers and not %ld", starpu_cpu_worker_get_count(), workers);
}

#endif
