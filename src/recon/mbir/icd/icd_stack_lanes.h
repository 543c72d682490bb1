/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/icd/icd_stack.h"

/* Sixteen slices per vector: a stack on the CPU. Created in icd_stack_lanes.c, filled in icd_stack_start.c, swept in
 * icd_stack_cpu.c. */
enum { L = QB__ICD_LANES, MARGIN = 16 };

typedef struct qb__icd_lanes {
    qb__icd_settings settings;
    const qb__system_matrix *matrix;
    const qb__icd_variant *variant;
    qb__icd_problem problem;
    qb__pool *pool;
    size_t slices, groups, row; /* row: floats of a view with all lanes */
    bool joined;                /* slices are neighbours in the prior */
    double pull;                /* pull of the settings, for these weights */
    uint8_t *inside;
    uint32_t *pixels; /* inside pixels, by tile */
    size_t *tile;     /* [tiles + 1] start of each tile */
    size_t count, tiles;
    qb__icd_group *group;
    float *block; /* memory of all groups: error, weight, x, curve, the image toward which they are pulled */
    char **scratch;
    /* With neighbours on other ranks: the neighbours of lane 0 of the first group and of the last slice's lane, with
     * all their lanes. */
    float *edge[2], *swapped; /* [pixel][16]; [4][count] for qb__icd_swap */
    /* state of the current sweep */
    size_t *order;
    qb__icd_moved *moved; /* [group] */
    const bool *still;    /* [group] has stopped */
    double *cost;         /* [group][16] */
    size_t first_group, group_step;
    bool skip;
    const qb_env *env;
} qb__icd_lanes;

/* The group and the lane of a slice. */
static inline size_t qb__icd_group_of(const qb__icd_lanes *s, size_t slice) {
    return s->joined ? slice % s->groups : slice / L;
}

static inline size_t qb__icd_lane_of(const qb__icd_lanes *s, size_t slice) {
    return s->joined ? slice / s->groups : slice % L;
}

/* The lanes of a view in a group's row. */
static inline float *qb__icd_lanes_at(const qb__icd_lanes *s, float *rows, size_t view) {
    return rows + view * s->row + s->matrix->footprints.taps * L;
}

/* Exchange the outermost slices with other ranks, into `edge`; `mine` without neighbours. Call it whenever x has
 * changed. */
qb_status qb__icd_lanes_swap(qb__icd_lanes *s, qb_status mine);

/* Floats of a view with all lanes, of a group's image, of everything in a group. */
static inline size_t qb__icd_row_floats(const qb__system_matrix *m) {
    return (m->footprints.columns + 2 * m->footprints.taps) * L;
}

static inline size_t qb__icd_image_floats(const qb__system_matrix *m) {
    return (m->nx + 2) * (m->ny + 2) * L + 2 * MARGIN;
}

static inline size_t qb__icd_group_floats(const qb__system_matrix *m, const qb__icd_settings *settings) {
    const size_t data = m->footprints.views * qb__icd_row_floats(m);
    return data * (settings->weighting == QB__WEIGH_NONE ? 1 : 2) +
           (settings->pull > 0 ? 3 : 2) * qb__icd_image_floats(m);
}

/* As the `start` of qb__icd_worker; `self` is a qb__icd_lanes. */
qb_status qb__icd_lanes_start(void *self, const qb__icd_given *given);
void qb__icd_lanes_destroy(void *self);
extern const qb__icd_worker qb__icd_on_cpu;
