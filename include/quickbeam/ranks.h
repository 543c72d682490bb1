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
 * calls with the same arguments, and qb_env.ranks in its environment: qb_fbp_plan, qb_fdk_plan (whose ranks are a grid) and
 * qb_mbir_plan, then qb_job_run. Each computes its own slices; all write into the one output, on a file system that all see; rank 0 gives it
 * its name once all are done, and has the whole report. A rank that fails ends the job on all: every rank returns its
 * status and its words. The MPI library is opened at run time, in a process that was started by its launcher. */
typedef struct qb_ranks qb_ranks;

/* Was this process started as one of several, as the launcher's variables say? Opens nothing. *rank and *count are
 * 0 and 1 when not. */
QB_API bool qb_ranks_launched(int *rank, int *count);

/* Which MPI library such a process would use, as "Open MPI v4.1.4 (libmpi.so.40)"; QB_UNSUPPORTED with the reason: none. Loads it. */
QB_API qb_status qb_ranks_library(char *text, size_t size);

/* Join the others; *ranks is NULL where there are none. Once in a process, from its main thread. Collective, as is all
 * that takes the environment it is put into. QB_UNSUPPORTED where this build has no MPI, QB_IO where not
 * all come together: some have died, or the launcher is another MPI's. */
QB_API qb_status qb_ranks_open(qb_ranks **ranks);
QB_API int qb_ranks_rank(const qb_ranks *ranks);  /* 0 for NULL */
QB_API int qb_ranks_count(const qb_ranks *ranks); /* 1 for NULL */

/* How all fared: `status` is what became of this rank, `words` what it has to say of it (NULL: qb_detail). Returns the
 * failure of the one that failed, with its words as detail, on all; once that is so, at once. `ranks` may be NULL. */
QB_API qb_status qb_ranks_agree(qb_ranks *ranks, qb_status status, const char *words);
/* Part, once what there is to say is said: launchers end a job as soon as one process of it ends in failure. Waits for all
 * to come here. Frees it; NULL-safe. */
QB_API void qb_ranks_close(qb_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
