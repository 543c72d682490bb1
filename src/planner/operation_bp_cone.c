/* SPDX-License-Identifier: MIT */
/* Back-projection of a cone beam: qb fdk. */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/bp_cone/bp_cone.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "planner/choose.h"
#include "planner/variants.h"
#ifdef QB_HAVE_PAPERS
#include "papers/bp_cone_papers.h"
#endif

/* Device rows, collected from the families once. */
enum { MOST = 32 };
static const qb__bp_cone_device_variant *all[MOST];
static size_t count_all;

static void gather(void) {
    const qb__bp_cone_family *const families[] = {
        &qb__bp_cone_circular_rows,
        &qb__bp_cone_matrix_rows,
#ifdef QB_HAVE_PAPERS
        &qb__bp_cone_papers_rows,
#endif
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < families[f]->count && count_all < MOST; i++) all[count_all++] = &families[f]->rows[i];
}

static const qb__bp_cone_device_variant *const *device_variants(size_t *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gather);
    *count = count_all;
    return all;
}

QB__TABLE(cpu_rows, qb__bp_cone_variants, .head)
QB__TABLE(device_rows, device_variants, ->head)

static double updates(const void *problem) {
    const qb__bp_cone_problem *p = problem;
    return (double)p->nx * (double)p->ny * (double)p->nz * (double)p->views;
}

/* Layers of slices are computed as a whole. */
static double longer(const qb__variant *row, const void *problem) {
    const qb__bp_cone_problem *p = problem;
    return p->nz == 0 ? 1 : qb__bp_cone_worth((const qb__bp_cone_variant *)row, p, 0, p->nz) / (double)p->nz;
}

/* qb tune uses as many voxels per side as the detector has columns. With finer or fewer voxels an update takes
 * longer. */
static double unlike(const qb__device_info *device, const qb__variant *row, const void *problem, const int *values) {
    enum { LEAST = 256 }; /* with at least this number of voxels per side no work is wasted */
    const qb__bp_cone_problem *p = problem;
    qb__bp_cone_problem measured = *p;
    measured.nx = measured.ny = measured.nz = qb__larger(p->columns, LEAST);
    const double here = qb__forecast(device, row, p, 1, values, NULL, &(int){0}) / updates(p);
    return here * updates(&measured) / qb__forecast(device, row, &measured, 1, values, NULL, &(int){0});
}

enum { VIEWS = 4, SIDE = 64 };

typedef struct usual_problem {
    qb__bp_cone_problem problem;
    double matrix[VIEWS][12];
    float largest[VIEWS];
} usual_problem;

/* Four views a quarter turn apart, for kernels that pack them together: w = 1 + (c y - s x) / 200 about the middle. */
static qb_status usual(void **problem) {
    static const double c[VIEWS] = {1, 0, -1, 0}, s[VIEWS] = {0, 1, 0, -1};
    usual_problem *u;
    *problem = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *u, &u));
    for (int v = 0; v < VIEWS; v++) {
        const double m = (SIDE - 1) / 2.0, a = -s[v] / 200, b = c[v] / 200, w = 1 - m * (a + b);
        const double rows[12] = {
            c[v] + m * a, s[v] + m * b, 0, m * w - m * (c[v] + s[v]), m * a, m * b, 1, m * w - m, a, b, 0, w};
        memcpy(u->matrix[v], rows, sizeof rows);
        u->largest[v] = 1;
    }
    u->problem = (qb__bp_cone_problem){.views = VIEWS,
                                       .columns = SIDE,
                                       .rows = SIDE,
                                       .nx = SIDE,
                                       .ny = SIDE,
                                       .nz = SIDE,
                                       .matrix = (const double(*)[12])u->matrix,
                                       .largest = u->largest};
    *problem = u;
    return QB_OK;
}

static qb_status plan(qb__device *device, const qb__variant *row, const void *problem, const int *values) {
    const qb__bp_cone_device_variant *variant = qb__bp_cone_on_device(row);
    const qb__bp_cone_problem *p = problem;
    qb__bp_cone_plan *made = NULL;
    qb_status status = variant->plan(device, p, (qb__bp_cone_most){p->views, p->rows}, values, &made);
    if (status == QB_OK) variant->destroy(made);
    return status;
}

const qb__operation_row qb__operation_bp_cone = {.whose = "a cone beam's",
                                                 .verb = "fdk",
                                                 .does = "back-projects this geometry",
                                                 .cpu = cpu_rows,
                                                 .devices = device_rows,
                                                 .updates = updates,
                                                 .longer = longer,
                                                 .unlike = unlike,
                                                 .columns_at = offsetof(qb__bp_cone_problem, columns),
                                                 .usual = usual,
                                                 .forget = qb__free,
                                                 .plan = plan};
