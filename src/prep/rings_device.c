/* SPDX-License-Identifier: MIT */
#include "prep/rings_device.h"

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "kernels/filter/filter_device.h"
#include "ops/filter.h"
#include "prep/phase.h"
#include "prep/prepare.h"

enum { BLOCK_BYTES = 256 << 20 /* bytes of the line integrals of a block */, ITEMS = 128 };

/* Buffers of a block of rows in transit. */
typedef struct place {
    qb__memory *means, *change;
    float *lines, *changes; /* page-locked */
} place;

struct qb__rings_device {
    qb_scan *scan;
    qb__phase_kept kept;
    size_t views, columns, group, groups; /* views averaged, and how many means there are */
    /* first_row: scan row of the first row of the fields; block: views prepared at a time, a multiple of `group` */
    size_t first_row, block;
    qb__queue *queue;
    qb__filter *none;
    qb__device_filter *filter;
    qb__memory *prepared, *last;
    qb__program *program;
    qb__kernel *kernel;
    float *weights; /* [views], all 1 */
    place place[2];
};

void qb__rings_device_destroy(qb__rings_device *d) {
    if (!d) return;
    qb__queue_destroy(d->queue);
    qb__device_filter_destroy(d->filter);
    qb__filter_destroy(d->none);
    qb__memory_destroy(d->prepared);
    qb__memory_destroy(d->last);
    qb__program_release(d->program);
    for (int i = 0; i < 2; i++) {
        qb__memory_destroy(d->place[i].means);
        qb__memory_destroy(d->place[i].change);
        qb__host_destroy(d->kept.device, d->place[i].lines);
        qb__host_destroy(d->kept.device, d->place[i].changes);
    }
    qb__free(d->weights);
    qb__free(d);
}

/* Makes the filter that prepares rows, as qb__prepare_rows() does, with weights 1. */
static qb_status open_filter(const qb__pass *pass, qb__rings_device *d) {
    const qb__prep *steps = qb__prepare_steps(pass->prepare);
    qb__filter_spectrum spectrum;
    qb__device_prep prep = {.quantity = steps->quantity,
                            .dtype = steps->dtype,
                            .views = d->views,
                            .weights = d->weights,
                            .air = steps->air,
                            .rows = qb__prepare_rows_held(pass->prepare),
                            .dark = steps->dark,
                            .gain = steps->gain,
                            .floor = steps->floor,
                            .most = steps->most};
    qb_status status;
    qb__prep_changes(steps, &prep);
    qb__prep_define(steps, &prep.steps);
    qb__macros_add(&prep.steps, "ROUNDED", 1);
    QB__TRY(qb__filter_create("none", QB_PAD_EDGE, d->columns, 1, &d->none));
    qb__filter_describe(d->none, &spectrum);
    status = qb__device_filter_create(d->kept.device, &spectrum, &prep, QB__FILTER_AUTO, &d->filter);
out:
    return status;
}

static qb_status open_place(const qb__rings_device *d, size_t pixels, place *p) {
    qb_status status;
    QB__TRY(qb__memory_create(d->kept.device, d->groups * pixels * sizeof(float), &p->means));
    QB__TRY(qb__memory_create(d->kept.device, pixels * sizeof(float), &p->change));
    QB__TRY(qb__host_create(d->kept.device, d->groups * pixels * sizeof(float), (void **)&p->lines));
    QB__TRY(qb__host_create(d->kept.device, pixels * sizeof(float), (void **)&p->changes));
out:
    return status;
}

static qb_status open_all(const qb__pass *pass, size_t rows, qb__rings_device *d) {
    const size_t pixels = rows * d->columns, line = pixels * sizeof(float);
    qb_status status;
    d->block = qb__larger(1, BLOCK_BYTES / line / d->group) * d->group;
    d->block = qb__smaller(d->block, d->groups * d->group);
    QB__TRY(qb__alloc(d->views, sizeof(float), &d->weights));
    for (size_t v = 0; v < d->views; v++) d->weights[v] = 1;
    QB__TRY(qb__queue_create(d->kept.device, &d->queue));
    QB__TRY(open_filter(pass, d));
    QB__TRY(qb__memory_create(d->kept.device, d->block * line, &d->prepared));
    QB__TRY(qb__memory_create(d->kept.device, line, &d->last));
    QB__TRY(qb__program_build(d->kept.device, "view_groups.cl", NULL, &d->program));
    QB__TRY(qb__kernel_get(d->program, "view_groups", &d->kernel));
    for (int i = 0; i < 2; i++) QB__TRY(open_place(d, pixels, &d->place[i]));
out:
    return status;
}

qb_status qb__rings_device_create(const qb__pass *pass, size_t rows, size_t group, qb__rings_device **out) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    qb__phase_kept kept;
    qb__rings_device *d = NULL;
    *out = NULL;
    qb_status status = pass->fields->step > 1 ? QB_OK : qb__phase_kept_of(pass->scan, 0, &kept);
    if (status != QB_OK || pass->fields->step > 1 || !kept.memory) return status;
    QB__TRY(qb__alloc(1, sizeof *d, &d));
    *d = (qb__rings_device){.scan = pass->scan,
                            .kept = kept,
                            .views = info->views,
                            .columns = info->columns,
                            .group = group,
                            .first_row = qb__prepare_first_row(pass->prepare)};
    d->groups = qb__ceil_div(d->views, d->group);
    status = open_all(pass, rows, d);
out:
    if (status != QB_OK) {
        qb__rings_device_destroy(d);
        return status == QB_NO_MEMORY ? QB_OK : status; /* the CPU has enough memory */
    }
    *out = d;
    return QB_OK;
}

static qb_status average(qb__rings_device *d, const place *p, size_t view0, size_t view1, size_t rows) {
    const uint32_t pixels = (uint32_t)(rows * d->columns), first = (uint32_t)view0, end = (uint32_t)view1;
    const uint32_t all = (uint32_t)d->views, group = (uint32_t)d->group;
    const qb__arg args[] = {QB__MEMORY(d->prepared), QB__MEMORY(d->last), QB__MEMORY(p->means),
                            QB__MEMORY(p->change),   QB__VALUE(pixels),   QB__VALUE(first),
                            QB__VALUE(end),          QB__VALUE(all),      QB__VALUE(group)};
    const size_t groups[3] = {qb__ceil_div(pixels, ITEMS), 1, 1}, items[3] = {ITEMS, 1, 1};
    return qb__kernel_launch(d->kernel, d->queue, groups, items, args, sizeof args / sizeof *args);
}

qb_status qb__rings_device_begin(qb__rings_device *d, int turn, size_t row, size_t rows) {
    const place *p = &d->place[turn];
    const size_t pixels = rows * d->columns;
    const qb__device_rows to = {.memory = d->prepared, .view_stride = pixels, .slice_stride = d->columns};
    qb__phase_kept there;
    qb_status status = qb__phase_kept_of(d->scan, row + rows, &there);
    for (size_t view = 0; view < d->views && status == QB_OK; view += d->block) {
        const size_t end = qb__smaller(d->views, view + d->block);
        qb__device_rows from = qb__phase_kept_rows(&d->kept, row, d->columns);
        from.offset += view * from.view_stride * sizeof(float);
        QB__TRY(
            qb__device_filter_run(d->filter, d->queue, &from, view, end, (unsigned)rows, row - d->first_row, 1, &to));
        QB__TRY(average(d, p, view, end, rows));
    }
    QB__TRY(qb__memory_download(d->queue, p->means, 0, p->lines, d->groups * pixels * sizeof(float)));
    QB__TRY(qb__memory_download(d->queue, p->change, 0, p->changes, pixels * sizeof(float)));
out:
    return status;
}

bool qb__rings_device_fills(const qb__rings_device *d) { return qb__phase_fills(d->scan); }

qb_status qb__rings_device_end(qb__rings_device *d, int turn, const float **lines, const float **change) {
    *lines = d->place[turn].lines;
    *change = d->place[turn].changes;
    return qb__queue_finish(d->queue);
}
