/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir_coarse.h"

/* Line integrals of rays that hit no voxel. If they are not zero, the object extends beyond the volume, and voxels at
 * the edge of the volume become too bright. */
typedef struct qb__mbir_truncation {
    double share; /* their share of the sum of |y| over all rays */
    size_t view;  /* the view with the largest share */
    size_t wide;  /* width in voxels of a volume that all rays of that view hit */
} qb__mbir_truncation;

/* Measure the attenuation outside the volume over `slices` slices. Values above `limit` and masked ones (NaN, or weight
 * 0) are left out. */
qb_status qb__mbir_truncation_find(const qb__mbir *m, size_t slices, const float *lines, const float *weights,
                                   double limit, qb__pool *pool, qb__mbir_truncation *truncation);
/* Warn if the share is 1 % or more. Returns true if it warned. */
bool qb__mbir_truncation_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_truncation *truncation,
                              const qb_env *env);
void qb__mbir_truncation_note(const qb__mbir_truncation *truncation, cJSON *slab);
size_t qb__mbir_truncation_bytes(const qb__mbir *m);

/* Masked line integrals. Preparation leaves NaN there, and their weight is 0. Only the filtered back-projection of the
 * start needs numbers: gaps within a row are filled, and views without any value are replaced by other views. */
typedef struct qb__mbir_masked {
    uint64_t values;      /* masked line integrals of the slab */
    size_t views;         /* views without any value in the slab */
    float *more;          /* [slice] as qb__icd_given.more; NULL if all was measured */
    char told[320];       /* as qb__icd_given.told: the range of the measured values */
    double limit;         /* larger values count as outliers */
    uint64_t far, counts; /* number of outliers, and of those with a positive weight */
    char where[96];       /* position of the first outlier, preferably one with a weight */
} qb__mbir_masked;

/* Find masked values in `slices` slices from detector row `row` on, and set their weights to 0. QB_BAD_INPUT if a slice
 * has no measured value. Release the result also after a failure. */
qb_status qb__mbir_masked_find(const qb__mbir *m, size_t row, size_t slices, const float *lines, float *weights,
                               qb__pool *pool, qb__mbir_masked *masked);
void qb__mbir_masked_report(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked,
                            const qb_env *env);
/* Warn of outliers that affect the image. Returns true if it warned. */
bool qb__mbir_far_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked, const qb_env *env);
void qb__mbir_masked_note(const qb__mbir_masked *masked, cJSON *slab);
void qb__mbir_masked_release(qb__mbir_masked *masked);
size_t qb__mbir_masked_bytes(const qb__mbir *m, size_t slices);

/* State that the engines of qb mbir share; the state of each engine begins with it. */
typedef struct qb__mbir_descent {
    qb__mbir *m;
    int threads;
    /* Make a stack for that many slices, on the voxels of the volume or of a coarser level. Set by the engine. */
    qb_status (*stack)(struct qb__mbir_descent *descent, qb__system_matrix *matrix, const qb__icd_settings *settings,
                       size_t slices, qb__icd_stack **stack);
    const char *engine, *kernel;                         /* names for the report */
    qb__room (*memory)(void *state, const qb__cut *cut); /* memory that a cut needs; set by the engine */
    qb__room cap;                                        /* limits of the memory */
    /* while running */
    const qb__running *run;
    qb_env env; /* env of the caller; without progress if there are several slabs */
    /* settings with sigma_x and sigma_y; the weighting is that of the current slab */
    qb__icd_settings settings;
    qb__mbir_masked masked;             /* masked pixels of the current slab */
    qb__mbir_truncation truncation;     /* truncation of the current slab */
    bool warned_far, warned_truncation; /* true after the warning of outliers, and of rays outside the volume */
    float *some;                        /* weights of the current slab from the file */
    float *slice;                       /* one slice of the image, for the comparison with the reference */
    qb__icd_trace *trace;
    qb__mbir_coarse coarse; /* the descents on coarser voxels */
    bool coarsely;          /* there were descents on coarser voxels */
    cJSON *slabs;           /* report of each slab */
    size_t unfinished;      /* slabs whose cost is forecast to fall by 1 % or more */
    double rest;            /* largest forecast decrease of a slab's cost, relative to the cost */
    double change;          /* largest change of a slab's image in its last sweep */
} qb__mbir_descent;

/* The settings of the plan. If a slab has masked values, weights are needed even if the plan has none. */
static inline qb__icd_settings qb__mbir_settings(const qb__mbir_descent *d) {
    qb__icd_settings settings = d->m->settings;
    if (d->settings.weighting == QB__WEIGH_MEASURED) settings.weighting = QB__WEIGH_MEASURED;
    return settings;
}

size_t qb__mbir_voxels(const qb__mbir *m); /* voxels of a slice that may change */
/* Host bytes of a descent whose stack takes `stack` bytes. */
size_t qb__mbir_descent_bytes(const qb__mbir *m, const qb__cut *cut, size_t stack);

/* ---- the report (mbir_descent_report.c) ---- */

const char *qb__mbir_units(const qb__mbir *m); /* units of voxel values */
/* Record a finished slab, whose first slice is slice `first` of the volume, for qb__mbir_descent_finish(). */
qb_status qb__mbir_note_slab(qb__mbir_descent *d, size_t first, const qb__checkpoint_slab *of);

/* ---- rows of an engine's table ---- */

int qb__mbir_descent_stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages);
qb_status qb__mbir_descent_open(void *state, const qb__cut *cut, const qb__running *run);
qb_status qb__mbir_descent_finish(void *state, cJSON *report, qb__prep_counts *counts);
void qb__mbir_descent_close(void *state);
