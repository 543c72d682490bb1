/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_DESCENT_H
#define QB_RECON_MBIR_MBIR_DESCENT_H

#include "recon/mbir/mbir_truncation.h"
#include "recon/mbir/mbir_coarse.h"
#include "recon/mbir/mbir_masked.h"

/* What the engines of qb mbir share; each engine's state begins with it. */
typedef struct qb__mbir_descent {
    qb__mbir *m;
    int threads;
    /* The engine's: room for so many slices on the volume's voxels or a level's; who computes, and with what. */
    qb_status (*stack)(struct qb__mbir_descent *descent, qb__system_matrix *matrix, const qb__icd_settings *settings,
                       size_t slices, qb__icd_stack **stack);
    const char *engine, *kernel;
    qb__room (*memory)(void *state, const qb__cut *cut); /* the engine's, ... */
    qb__room cap;                                        /* ... and what it may come to */
    /* while running */
    const qb__running *run;
    qb_env env;                     /* of several slabs, how far one is says nothing of the whole */
    qb__icd_settings settings;      /* with sigma_x and sigma_y, weights as the slab in hand needs them */
    qb__mbir_masked masked;         /* of it */
    qb__mbir_truncation truncation; /* likewise */
    bool warned, warned_far,
        warned_truncation; /* that lines are negative, far from the others, of rays beside the volume: once is enough */
    float *some;           /* a slab's part of a file's weights */
    float *slice;          /* of an image, to be compared with the reference */
    qb__icd_trace *trace;
    qb__mbir_coarse coarse; /* what came before a slab's own descent, ... */
    bool coarsely;          /* ... where anything did */
    cJSON *slabs;           /* what each came to */
    size_t unfinished;      /* so many of them whose cost would fall by a hundredth or more, ... */
    double rest;            /* ... at most by this share */
} qb__mbir_descent;

/* The plan's; weights that it can do without are counted once a slab has lines that were not measured. */
static inline qb__icd_settings qb__mbir_settings(const qb__mbir_descent *d) {
    qb__icd_settings settings = d->m->settings;
    if (d->settings.weighting == QB__WEIGH_MEASURED) settings.weighting = QB__WEIGH_MEASURED;
    return settings;
}

size_t qb__mbir_voxels(const qb__mbir *m); /* that may change, of a slice */
/* Of the host, when the stack takes `stack`. */
size_t qb__mbir_descent_bytes(const qb__mbir *m, const qb__cut *cut, size_t stack);

/* ---- what it came to (mbir_descent_report.c) ---- */

const char *qb__mbir_units(const qb__mbir *m); /* of voxels */
/* A slab whose slice 0 is `first` of the volume has come to its end: into what qb__mbir_descent_finish() reports. */
qb_status qb__mbir_note_slab(qb__mbir_descent *d, size_t first, const qb__checkpoint_slab *of);

/* ---- rows of an engine's table ---- */

int qb__mbir_descent_stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages);
qb_status qb__mbir_descent_open(void *state, const qb__cut *cut, const qb__running *run);
qb_status qb__mbir_descent_finish(void *state, cJSON *report, qb__prep_counts *counts);
void qb__mbir_descent_close(void *state);

#endif
