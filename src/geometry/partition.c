/* SPDX-License-Identifier: MIT */
#include "geometry/partition.h"

#include "base/memory.h"
#include "base/status.h"

qb_status qb__partition_slices(const qb__partition_problem *problem, qb__partition *partition) {
    size_t most = qb__round_up(problem->slices, problem->step), smallest = 0;
    if (most > problem->most) most = problem->most;
    for (size_t size = most; size >= problem->step; size -= problem->step) {
        /* As many chunks as this size makes, but none much smaller than the others. */
        size_t chunks = (problem->slices + size - 1) / size;
        size_t even = qb__round_up((problem->slices + chunks - 1) / chunks, problem->step);
        for (unsigned slots = chunks > 1 ? 2 : 1; slots >= 1; slots--) {
            smallest = problem->bytes(problem->context, even, slots);
            if (smallest > problem->cap) continue;
            *partition = (qb__partition){even, (problem->slices + even - 1) / even, slots, smallest};
            return QB_OK;
        }
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "--max-ram of %.1f MiB is too small: even %zu slices at a time need %.1f MiB",
                    (double)problem->cap / 1048576.0, problem->step, (double)smallest / 1048576.0);
}
