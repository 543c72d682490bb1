/* SPDX-License-Identifier: MIT */
#include "planner/variants.h"

#include <string.h>

#include "base/memory.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "cpu/icd/icd.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/parallel.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "kernels/bp_parallel/bp_parallel_device.h"

/* ---- the rows, by operation ---- */

#define ROWS(name, type, all)                                                                      \
    static const qb__variant *name(size_t i) {                                                     \
        size_t count;                                                                              \
        const type *rows = all(&count);                                                            \
        return i < count ? &rows[i].head : NULL;                                                   \
    }
ROWS(parallel_rows, qb__bp_parallel_variant, qb__bp_parallel_variants)
ROWS(cone_rows, qb__bp_cone_variant, qb__bp_cone_variants)
ROWS(joseph_rows, qb__joseph_variant, qb__joseph_variants)
ROWS(icd_rows, qb__icd_variant, qb__icd_variants)
ROWS(cone_device_rows, qb__bp_cone_device_variant, qb__bp_cone_device_variants)

static const qb__variant *parallel_device_rows(size_t i) {
    size_t count;
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    return i < count ? &rows[i]->head : NULL;
}

static const qb__variant *no_rows(size_t i) {
    (void)i;
    return NULL;
}

/* ---- their problems ---- */

static double parallel_updates(const void *problem) {
    const qb__bp_parallel_problem *p = problem;
    return (double)p->nx * (double)p->ny * (double)p->views;
}

static size_t parallel_columns(const void *problem) {
    return ((const qb__bp_parallel_problem *)problem)->columns;
}

typedef struct usual_parallel {
    qb__bp_parallel_problem problem;
    double *coefficients;
    float some;
} usual_parallel;

static void parallel_forget(void *problem) {
    usual_parallel *u = problem;
    if (u) qb__free(u->coefficients);
    qb__free(u);
}

static qb_status parallel_usual(void **problem) {
    usual_parallel *u;
    *problem = NULL;
    qb_status status = qb__alloc(1, sizeof *u, &u);
    if (status != QB_OK) return status;
    *u = (usual_parallel){.problem = {.views = 512, .columns = 512, .nx = 512, .ny = 512},
                          .some = 1};
    u->problem.largest = &u->some;
    status = qb__half_turn(&u->problem, &u->coefficients);
    if (status == QB_OK)
        *problem = u;
    else
        parallel_forget(u);
    return status;
}

static double cone_updates(const void *problem) {
    const qb__bp_cone_problem *p = problem;
    return (double)p->nx * (double)p->ny * (double)p->nz * (double)p->views;
}

static size_t cone_columns(const void *problem) {
    return ((const qb__bp_cone_problem *)problem)->columns;
}

/* A view from far away. */
static qb_status cone_usual(void **problem) {
    static const double matrix[1][12] = {{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    static const qb__bp_cone_problem usual = {.views = 1, .columns = 512, .rows = 512, .nx = 512,
                                              .ny = 512, .nz = 512, .matrix = matrix};
    qb__bp_cone_problem *own;
    qb_status status = qb__alloc(1, sizeof *own, &own);
    if (status == QB_OK) *own = usual;
    *problem = status == QB_OK ? own : NULL;
    return status;
}

static double joseph_updates(const void *problem) {
    const qb__joseph_problem *p = problem;
    return (double)p->views * (double)(p->rows * p->columns) * (double)p->planes;
}

static size_t joseph_columns(const void *problem) {
    return ((const qb__joseph_problem *)problem)->columns;
}

static double icd_updates(const void *problem) {
    const qb__icd_size *p = problem;
    return (double)p->views * (double)p->taps * (double)p->pixels;
}

static size_t icd_columns(const void *problem) {
    return ((const qb__icd_size *)problem)->columns;
}

/* ---- the table ---- */

static const struct operation {
    qb__operation_row row;
    const qb__variant *(*cpu)(size_t i), *(*devices)(size_t i);
} operations[QB__OPERATIONS] = {
    [QB__BP_PARALLEL] = {{"a parallel beam's", "fbp", "back-projects", true, parallel_updates,
                          parallel_columns, parallel_usual, parallel_forget},
                         parallel_rows,
                         parallel_device_rows},
    [QB__BP_CONE] = {{"a cone beam's", "fdk", "back-projects this geometry", false, cone_updates,
                      cone_columns, cone_usual, qb__free},
                     cone_rows,
                     cone_device_rows},
    [QB__PROJECT_JOSEPH] = {{"for forward projection", "project", "projects", false,
                             joseph_updates, joseph_columns, NULL, NULL},
                            joseph_rows,
                            no_rows},
    [QB__ICD] = {{"for iterative coordinate descent", "mbir", "descends", false, icd_updates,
                  icd_columns, NULL, NULL},
                 icd_rows,
                 no_rows},
};

const qb__operation_row *qb__operation_of(qb__operation operation) {
    return &operations[operation].row;
}

const qb__variant *qb__variant_at(qb__operation operation, bool devices, size_t i) {
    const struct operation *o = &operations[operation];
    return devices ? o->devices(i) : o->cpu(i);
}

const qb__variant *qb__variant_named(const char *id) {
    const qb__variant *row;
    for (int n = 0; n < 2 * QB__OPERATIONS; n++)
        for (size_t i = 0; (row = qb__variant_at(n / 2, n % 2, i)) != NULL; i++)
            if (strcmp(row->id, id) == 0) return row;
    return NULL;
}
