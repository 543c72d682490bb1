/* SPDX-License-Identifier: MIT */
/* Back-projection of a parallel beam: qb fbp. */
#include "base/memory.h"
#include "base/status.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "planner/variants.h"

QB__TABLE(cpu_rows, qb__bp_parallel_variants, .head)
QB__TABLE(device_rows, qb__bp_parallel_device_variants, ->head)

static double updates(const void *problem) {
    const qb__bp_parallel_problem *p = problem;
    return (double)p->nx * (double)p->ny * (double)p->views;
}

enum { MOST = 256 }; /* slices of a pass, more than any row takes */

typedef struct usual_problem {
    qb__bp_parallel_problem problem;
    double *coefficients;
    float largest[MOST];
} usual_problem;

static void forget(void *problem) {
    usual_problem *u = problem;
    if (u) qb__free(u->coefficients);
    qb__free(u);
}

static qb_status usual(void **problem) {
    usual_problem *u;
    *problem = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *u, &u));
    u->problem = (qb__bp_parallel_problem){.views = 512, .columns = 512, .nx = 512, .ny = 512, .largest = u->largest};
    for (int s = 0; s < MOST; s++) u->largest[s] = 1;
    const qb_status status = qb__half_turn(&u->problem, &u->coefficients);
    if (status == QB_OK)
        *problem = u;
    else
        forget(u);
    return status;
}

/* Rates for a pass of few slices. */
static qb_status plan(qb__device *device, const qb__variant *row, const void *problem, const int *values) {
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(row);
    qb__bp_parallel_plan *made = NULL;
    const unsigned few = row->most && row->most < 8 ? row->most : 8;
    qb_status status = variant->plan(device, problem, qb__variant_padded(row, few), values, &made);
    if (status == QB_OK) variant->destroy(made);
    return status;
}

const qb__operation_row qb__operation_bp_parallel = {.whose = "a parallel beam's",
                                                     .verb = "fbp",
                                                     .does = "back-projects",
                                                     .interps = true,
                                                     .cpu = cpu_rows,
                                                     .devices = device_rows,
                                                     .updates = updates,
                                                     .columns_at = offsetof(qb__bp_parallel_problem, columns),
                                                     .usual = usual,
                                                     .forget = forget,
                                                     .plan = plan};
