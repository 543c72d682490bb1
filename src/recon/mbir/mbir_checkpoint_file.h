/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_CHECKPOINT_FILE_H
#define QB_RECON_MBIR_CHECKPOINT_FILE_H

#include "recon/iterative/solver.h"
#include "recon/mbir/icd/icd_stack.h"

/* A slab's file, in this machine's byte order: a head, the job's JSON, the trace, and then the stack's pieces or the images.
 * The head's hash is of all behind it. */

/* The slab in hand. */
typedef struct qb__checkpoint_slab {
    size_t first, slices, image; /* its slices; voxels of one */
    const char *job;             /* what it belongs to: the text of a JSON object */
    qb__icd_trace *trace;        /* room for `most` turns */
    int turns, most;
    const char *stopped; /* NULL: it has not */
    /* State of a slab that descends; both NULL when it is done. */
    qb__icd_stack *stack;
    const qb__solve_state *state;
    float *images; /* images of a finished slab: [slices][image] */
} qb__checkpoint_slab;

typedef enum qb__checkpoint_found { QB__FOUND_NOTHING, QB__FOUND_TURNING, QB__FOUND_DONE } qb__checkpoint_found;

/* Whether a file in that folder is a checkpoint of a descent, of any version. */
bool qb__checkpoint_is(int folder, const char *name);
/* What it holds, once it is whole and of this job, and of how many turns. */
qb_status qb__checkpoint_peek(const char *path, const qb__checkpoint_slab *slab, qb__checkpoint_found *found,
                              int *turns);
qb_status qb__checkpoint_read(const char *path, qb__checkpoint_slab *slab);
/* To `fresh`, and on the disk; `path` is for words. */
qb_status qb__checkpoint_write(const char *fresh, const char *path, const qb__checkpoint_slab *slab);

#endif
