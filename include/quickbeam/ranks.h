/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_RANKS_H
#define QUICKBEAM_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One job by several processes, of one machine or many: `mpirun -n 4 PROGRAM`. Each process ("rank") makes the same
 * calls with the same arguments, and qb_env.ranks in its environment: qb_fbp_plan, qb_fdk_plan (whose ranks form a
 * grid) and qb_mbir_plan, then qb_job_run. Each rank computes its own slices; all write into one output on a shared
 * file system. Rank 0 gives the output its name when all are done, and has the whole report. If a rank fails, the job
 * ends on all ranks with its status and message. The MPI library is opened at run time, only in a process that an MPI
 * launcher has started. */
typedef struct qb_ranks qb_ranks;

/* True if the launcher's environment variables say that this process is one of several. Opens no library. If false,
 * *rank is 0 and *count is 1. */
QB_API bool qb_ranks_launched(int *rank, int *count);

/* Load the MPI library and return its name, such as "Open MPI v4.1.4 (libmpi.so.40)"; QB_UNSUPPORTED, with the reason,
 * if there is none. */
QB_API qb_status qb_ranks_library(char *text, size_t size);

/* Connect to the other ranks; *ranks is NULL if there are none. Call it once per process, from the main thread. It is
 * collective, as are all calls that use these ranks. QB_UNSUPPORTED if this build has no MPI, QB_IO if not all ranks
 * connect (one has died, or the launcher belongs to another MPI). */
QB_API qb_status qb_ranks_open(qb_ranks **ranks);
QB_API int qb_ranks_rank(const qb_ranks *ranks);  /* 0 for NULL */
QB_API int qb_ranks_count(const qb_ranks *ranks); /* 1 for NULL */

/* Exchange the status of all ranks: `status` is this rank's, `words` its message (NULL: qb_detail). Returns, on all
 * ranks, the status of the rank that failed, with its message as detail; after that, without waiting. `ranks` may be
 * NULL. */
QB_API qb_status qb_ranks_agree(qb_ranks *ranks, qb_status status, const char *words);
/* Disconnect and free; NULL-safe. Waits for all ranks. Print errors first: launchers end the whole job as soon as one
 * process ends with a failure. */
QB_API void qb_ranks_close(qb_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
