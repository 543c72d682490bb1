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

/* Checkpoints of a descent in the folder OUT.checkpoint next to its output, so that a killed run can be resumed.
 *
 * There is one file per slab, replaced as a whole (io/publish/publication.h). For the current slab it holds voxels,
 * errors and the trace of its sweeps; for finished slabs, if there are several, their images. The file `lock` is locked
 * as long as the process that writes lives, or one of the ranks of a job, each of which saves its own slabs
 * (io/publish/staging.h). Each file begins with its job as JSON; a file of another job is refused.
 *
 * Slabs that sweep together are saved after the same sweep. All write a new file (slab_N.next) before any replaces the
 * previous one, so there is always a sweep that all have, and from which the job is resumed. If a checkpoint cannot be
 * written, a warning is given, no more are written, and the job continues. */
typedef struct qb__checkpoint {
    char *folder;     /* NULL: nothing is saved */
    double every;     /* seconds between saves; 0 = nothing is saved, but an existing state may be resumed */
    bool resume, all; /* resume: use an existing state; all: save finished slabs too */
    bool asked;       /* checkpoints are wanted, the same on all ranks */
    const qb_env *env;
    const char *job;          /* name of the job on all ranks; NULL = single process */
    const qb__icd_halo *halo; /* slabs of ranks that sweep together; NULL: independent */
    int lock;                 /* descriptor of the lock; < 0: no file in the folder is ours */
    double saved;             /* time of the last save, or of the start */
    size_t slabs;             /* number of resumed slabs that were finished */
    double equits;            /* equits of the resumed slab that was not finished */
} qb__checkpoint;

/* Open next to `output` (NULL: nothing is saved); `job` and `halo` as above, owned by the caller. QB_BAD_ARGUMENT if a
 * run to be resumed is still working. Close it also after a failure. */
qb_status qb__checkpoint_open(const char *output, bool resume, double every, bool all, const char *job,
                              const qb__icd_halo *halo, const qb_env *env, qb__checkpoint *checkpoint);
/* Close and keep the files, because the job has failed or was given up. */
void qb__checkpoint_close(qb__checkpoint *checkpoint);
/* Remove the files, because the output is published. */
void qb__checkpoint_drop(qb__checkpoint *checkpoint);

/* Look for the saved state of a slab. QB_BAD_ARGUMENT with the difference if it is of another job; QB_BAD_INPUT for a
 * damaged file. */
qb_status qb__checkpoint_look(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab, qb__checkpoint_found *found);
/* Load the saved state: sweeps and trace, and the stack, which must have been started, or the images. */
qb_status qb__checkpoint_load(qb__checkpoint *checkpoint, qb__checkpoint_slab *slab);
/* True if it is time to save a slab that sweeps alone. */
bool qb__checkpoint_due(const qb__checkpoint *checkpoint);
/* Save the state of a running slab, if it is time; save a finished slab. */
void qb__checkpoint_swept(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab);
void qb__checkpoint_done(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab);
