/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_CHECKPOINT_H
#define QB_RECON_MBIR_CHECKPOINT_H

#include "recon/mbir/mbir_checkpoint_file.h"

/* What is kept of a descent beside its output, in the folder OUT.checkpoint, so that a run that was killed goes on
 * where it was. A file a slab, replaced as a whole (io/publish/publication.h): of the slab in hand voxels, errors and what
 * its turns came to; of finished ones, where there are several slabs, their images. The file `lock` is locked as long as the
 * process lives that writes there, or one of a job's ranks, each of which keeps its own slabs (io/publish/staging.h). Each file begins with the job that it belongs to, as JSON: another one's is
 * refused. Slabs that turn together are kept at the same turn: all have written one file more (slab_N.next) before any gives it
 * the name of the one before, so that there is always a turn that all have, and it is taken up. A checkpoint that cannot be written is given up with a warning: the job goes on. */
typedef struct qb__checkpoint {
    char *folder;     /* NULL: nothing is kept */
    double every;     /* seconds; 0 = nothing is kept, but what is there may be taken up */
    bool resume, all; /* take up what is there; keep what is finished, too */
    bool asked;       /* checkpoints are wanted, of all ranks alike */
    const qb_env *env;
    const char *job;          /* name that all ranks of the job share; NULL = single process */
    const qb__icd_halo *halo; /* slabs of ranks that turn together; NULL: each by itself */
    int lock;                 /* < 0: nothing is ours in there */
    double saved;             /* when it was last written, or the run began */
    size_t slabs;             /* number of resumed slabs that were finished */
    double equits;            /* equits of the resumed slab that was not finished */
} qb__checkpoint;

/* Beside `output`, without a file of which (NULL) nothing is kept; `job` and `halo` as above, the caller's. QB_BAD_ARGUMENT when another run works there that
 * is to be taken up. Close it also after a failure. */
qb_status qb__checkpoint_open(const char *output, bool resume, double every, bool all, const char *job,
                              const qb__icd_halo *halo, const qb_env *env, qb__checkpoint *checkpoint);
/* What is kept stays: the job has failed, or is over and has been dropped. */
void qb__checkpoint_close(qb__checkpoint *checkpoint);
/* The output has its name: what is kept goes. */
void qb__checkpoint_drop(qb__checkpoint *checkpoint);

/* What there is of a slab. QB_BAD_ARGUMENT for another job's, naming what differs; QB_BAD_INPUT for a file that is
 * damaged. */
qb_status qb__checkpoint_look(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab, qb__checkpoint_found *found);
/* Take it up: turns and trace, and into the stack, which was started, or the images. */
qb_status qb__checkpoint_load(qb__checkpoint *checkpoint, qb__checkpoint_slab *slab);
/* Whether it is time, of a slab that turns alone. */
bool qb__checkpoint_due(const qb__checkpoint *checkpoint);
/* Save the state of a slab that descends, if it is time; save a finished slab. */
void qb__checkpoint_swept(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab);
void qb__checkpoint_done(qb__checkpoint *checkpoint, const qb__checkpoint_slab *slab);

#endif
