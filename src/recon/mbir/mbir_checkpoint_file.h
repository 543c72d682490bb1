/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/iterative/solver.h"
#include "recon/mbir/icd/icd_stack.h"

/* A slab's file, in this machine's byte order: a head, the job's JSON, the trace, and then the pieces of the stack, or
 * the images. The head holds a hash of everything after it. */

/* The slab that is saved or loaded. */
typedef struct qb__checkpoint_slab {
    size_t first, slices, image; /* its first slice and their number; voxels of a slice */
    const char *job;             /* text of a JSON object that identifies the job */
    qb__icd_trace *trace;        /* room for `most` sweeps */
    int turns, most;
    const char *stopped; /* reason why it stopped; NULL: still running */
    /* Stack of a running slab; NULL if it is finished. */
    qb__icd_stack *stack;
    const qb__solve_state *state;
    float *images; /* images of a finished slab: [slices][image] */
} qb__checkpoint_slab;

typedef enum qb__checkpoint_found { QB__FOUND_NOTHING, QB__FOUND_TURNING, QB__FOUND_DONE } qb__checkpoint_found;

/* True if a file in that folder is a checkpoint of a descent, of any version. */
bool qb__checkpoint_is(int folder, const char *name);
/* Check that a file is complete and of this job, and read its state and number of sweeps. */
qb_status qb__checkpoint_peek(const char *path, const qb__checkpoint_slab *slab, qb__checkpoint_found *found,
                              int *turns);
qb_status qb__checkpoint_read(const char *path, qb__checkpoint_slab *slab);
/* Write the slab to the file `fresh`, and flush it to the disk. path: name for messages. */
qb_status qb__checkpoint_write(const char *fresh, const char *path, const qb__checkpoint_slab *slab);
