/* SPDX-License-Identifier: MIT */
/* Iterative coordinate descent: qb mbir. */
#include "base/memory.h"
#include "base/status.h"
#include "cpu/icd/icd.h"
#include "kernels/icd/icd_device.h"
#include "planner/variants.h"

QB__TABLE(cpu_rows, qb__icd_variants, .head)
QB__TABLE(device_rows, qb__icd_device_variants, .head)

static double updates(const void *problem) {
    const qb__icd_size *p = problem;
    return (double)p->views * (double)p->taps * (double)p->pixels;
}

static qb_status usual(void **problem) {
    static const qb__icd_size usual = {.views = 360, .columns = 512, .pixels = 205887, .taps = 3};
    qb__icd_size *own;
    qb_status status = qb__alloc(1, sizeof *own, &own);
    if (status == QB_OK) *own = usual;
    *problem = status == QB_OK ? own : NULL;
    return status;
}

/* Two slices, which are neighbours if the kernel allows it, with weights. */
static qb_status plan_one(qb__device *device, const qb__variant *row, const qb__icd_problem *slice, const int *values) {
    const qb__icd_ask ask = {
        .problem = slice, .slices = 2, .all = 2, .joined = !qb__icd_device_of(row)->alone, .weighted = true};
    qb__icd_on_device *made = NULL;
    const qb_status status = qb__icd_device_of(row)->create(device, &ask, values, &made);
    qb__icd_device_of(row)->destroy(made);
    return status;
}

/* Fans with usual values, flat and curved; `none` and `one` stand for each view. */
static qb_status plan_fans(qb__device *device, const qb__variant *row, qb__icd_problem slice, const double *none,
                           const double *one, const int *values) {
    const qb__icd_size size = {.views = slice.footprints.views,
                               .columns = slice.footprints.columns,
                               .pixels = slice.nx * slice.ny,
                               .taps = 3,
                               .fan = true};
    int first[QB__PARAMETERS_MAX];
    qb__parameter_combination(row, 0, first);
    qb_status status = QB_OK;
    for (int p = 0; p < qb__parameter_count(row); p++)
        if (values[p] != first[p]) return QB_OK;
    if (row->unusable(qb__device_info_of(device), &size, values)) return QB_OK;
    slice.footprints.wx = slice.footprints.wy = none, slice.footprints.w0 = one;
    slice.footprints.steepest = 1.5;
    for (int curved = 0; curved < 2 && status == QB_OK; curved++) {
        slice.footprints.per_radian = 100 * curved;
        slice.footprints.c0 = curved ? none : NULL;
        status = plan_one(device, row, &slice, values);
    }
    return status;
}

static qb_status plan(qb__device *device, const qb__variant *row, const void *problem, const int *values) {
    enum { VIEWS = 48, SIDE = 64, ROW = SIDE + 2 };
    (void)problem; /* only its size matters */
    double *line;
    float *shape;
    uint8_t *inside;
    qb_status status = qb__alloc(3 * VIEWS, sizeof *line, &line);
    if (status == QB_OK)
        status = qb__alloc(VIEWS, sizeof *shape, &shape);
    else
        shape = NULL;
    if (status == QB_OK)
        status = qb__alloc(ROW * ROW, 1, &inside);
    else
        inside = NULL;
    if (status != QB_OK) goto out;
    for (int v = 0; v < VIEWS; v++) {
        line[v] = 1;
        line[2 * VIEWS + v] = 0;
    }
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) inside[(i / SIDE + 1) * ROW + i % SIDE + 1] = 1;
    const qb__icd_problem slice = {
        .footprints = {.views = VIEWS,
                       .stride = VIEWS,
                       .columns = SIDE,
                       .taps = 3,
                       .ax = line,
                       .ay = line + VIEWS,
                       .h0 = line + 2 * VIEWS,
                       .half = shape,
                       .flat = shape,
                       .rise = shape,
                       .curvature = shape,
                       .area = 1},
        .nx = SIDE,
        .ny = SIDE,
        .inside = inside,
        .prior = {.p = 1.2, .q = 2, .t = 1, .sigma = 1, .nearest = 0.1, .diagonal = 0.1, .interslice = 0.1}};
    status = plan_one(device, row, &slice, values);
    if (status == QB_OK) status = plan_fans(device, row, slice, line + 2 * VIEWS, line, values);
out:
    QB__FREE(line, shape, inside);
    return status;
}

const qb__operation_row qb__operation_icd = {.whose = "for iterative coordinate descent",
                                             .verb = "mbir",
                                             .does = "descends",
                                             .cpu = cpu_rows,
                                             .devices = device_rows,
                                             .updates = updates,
                                             .columns_at = offsetof(qb__icd_size, columns),
                                             .usual = usual,
                                             .forget = qb__free,
                                             .plan = plan};
