/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_CHECKPOINT_FILE_H
#define QB_RECON_MBIR_CHECKPOINT_FILE_H

#include "recon/iterative/solver.h"
#include "recon/mbir/icd/icd_stack.h"

/* A slab's file, in this machine's byte order: a head, the job's JSON, the trace, and then the stack's pieces or the
 * images. The head has the hash of everything after it. */

/* The current slab. */
typedef struct qb__checkpoint_slab {
    size_t first, slices, image; /* its slices; voxels of a slice */
    const char *job;             /* its job: the text of a JSON object */
    qb__icd_trace *trace;        /* room for `most` sweeps */
    int turns, most;
    const char *stopped; /* NULL: still running */
    /* Pieces of a running slab; both NULL when it is finished. */
    qb__icd_stack *stack;
    const qb__solve_state *state;
    float *images; /* images of a finished slab: [slices][image] */
} qb__checkpoint_slab;

typedef enum qb__checkpoint_found { QB__FOUND_NOTHING, QB__FOUND_TURNING, QB__FOUND_DONE } qb__checkpoint_found;

/* True if a file in that folder is a checkpoint of a descent, of any version. */
bool qb__checkpoint_is(int folder, const char *name);
/* Read its state and number of sweeps, after a check that it is complete and of this job. */
qb_status qb__checkpoint_peek(const char *path, const qb__checkpoint_slab *slab, qb__checkpoint_found *found,
                              int *turns);
qb_status qb__checkpoint_read(const char *path, qb__checkpoint_slab *slab);
/* Write it to `fresh`, flushed to the disk; `path` is for messages. */
qb_status qb__checkpoint_write(const char *fresh, const char *path, const qb__checkpoint_slab *slab);

#endif
