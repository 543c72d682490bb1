/* SPDX-License-Identifier: MIT */
#include "kernels/spread/spread_device.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

enum { ITEMS = 128, ROWS = 4, RECORD = 10 /* as in spread.cl */, MOST_GROUPS = 65535 };

struct qb__spread {
    qb__spread_problem problem;
    qb__queue *queue;
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *volume, *records, *lines;
};

bool qb__spread_possible(const qb__spread_problem *p) {
    const double LEAST = 1e-6; /* in pixels */
    if (p->n[0] > INT32_MAX / 2 || p->n[1] > INT32_MAX / 2 || p->n[2] > INT32_MAX / 2 || p->columns > INT32_MAX / 2 ||
        p->rows > MOST_GROUPS)
        return false;
    for (size_t i = 0; i < p->views; i++) {
        const double *m = p->matrix[i], z = (double)p->n[2];
        const double w = m[8] * 0.5 * (double)p->n[0] + m[9] * 0.5 * (double)p->n[1] + m[11];
        if (!(fabs(m[2] * z) < LEAST * w) || !(fabs(m[10] * z) * (double)p->columns < LEAST * w) || m[6] == 0)
            return false;
    }
    return true;
}

static size_t image_bytes(const qb__spread_problem *p) { return p->rows * p->columns * sizeof(float); }

size_t qb__spread_block(const qb__spread_problem *p) {
    static const size_t BYTES = 128 << 20;
    return qb__smaller(qb__smaller(p->views, MOST_GROUPS), qb__larger(1, BYTES / image_bytes(p)));
}

/* Makes the record of a view: converts the matrix to coordinates counted from the middles, in double precision. */
static void record_of(const qb__spread_problem *p, size_t view, float *record) {
    const double *m = p->matrix[view], c = 0.5 * ((double)p->columns - 1), r = 0.5 * ((double)p->rows - 1);
    const double x = 0.5 * ((double)p->n[0] - 1), y = 0.5 * ((double)p->n[1] - 1), z = 0.5 * ((double)p->n[2] - 1);
    double u[4], v[4];
    for (int i = 0; i < 4; i++) u[i] = m[i] - c * m[8 + i], v[i] = m[4 + i] - r * m[8 + i];
    const double all[RECORD] = {
        u[0], u[1], u[3] + u[0] * x + u[1] * y, v[0], v[1], v[2], v[3] + v[0] * x + v[1] * y + v[2] * z,
        m[8], m[9], m[11] + m[8] * x + m[9] * y};
    for (int i = 0; i < RECORD; i++) record[i] = (float)all[i];
}

static qb_status upload(qb__spread *s, qb__device *device, const float *volume) {
    const qb__spread_problem *p = &s->problem;
    const size_t bytes = p->n[0] * p->n[1] * p->n[2] * sizeof(float), all = p->views * RECORD * sizeof(float);
    float *records = NULL;
    qb_status status;
    QB__TRY(qb__alloc(p->views, RECORD * sizeof *records, &records));
    for (size_t i = 0; i < p->views; i++) record_of(p, i, records + i * RECORD);
    QB__TRY(qb__memory_create(device, bytes, &s->volume));
    QB__TRY(qb__memory_create(device, all, &s->records));
    QB__TRY(qb__memory_upload(s->queue, s->volume, 0, volume, bytes));
    QB__TRY(qb__memory_upload(s->queue, s->records, 0, records, all));
    QB__TRY(qb__queue_finish(s->queue));
out:
    qb__free(records);
    return status;
}

qb_status qb__spread_open(qb__device *device, const qb__spread_problem *problem, size_t views, const float *volume,
                          qb__spread **out) {
    qb__spread *s;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status != QB_OK) return status;
    s->problem = *problem;
    QB__TRY(qb__queue_create(device, &s->queue));
    QB__TRY(qb__memory_create(device, views * image_bytes(problem), &s->lines));
    QB__TRY(upload(s, device, volume));
    QB__TRY(qb__program_build(device, "spread.cl", NULL, &s->program));
    QB__TRY(qb__kernel_get(s->program, "spread_views", &s->kernel));
    *out = s;
out:
    if (status != QB_OK) qb__spread_close(s);
    return status;
}

qb_status qb__spread_views(qb__spread *s, size_t view0, size_t view1, float *lines) {
    const qb__spread_problem *p = &s->problem;
    const int32_t nx = (int32_t)p->n[0], ny = (int32_t)p->n[1], nz = (int32_t)p->n[2], first = (int32_t)view0,
                  columns = (int32_t)p->columns, rows = (int32_t)p->rows;
    const qb__arg args[] = {QB__MEMORY(s->volume), QB__VALUES(nx, ny, nz), QB__MEMORY(s->records),
                            QB__VALUES(first, columns, rows), QB__MEMORY(s->lines)};
    const size_t groups[3] = {qb__ceil_div(p->columns, ITEMS), qb__ceil_div(p->rows, ROWS), view1 - view0};
    qb_status status;
    QB__TRY(qb__kernel_launch(s->kernel, s->queue, groups, (const size_t[3]){ITEMS, 1, 1}, args,
                              sizeof args / sizeof *args));
    QB__TRY(qb__memory_download(s->queue, s->lines, 0, lines, (view1 - view0) * image_bytes(p)));
out:
    return qb__queue_finish_after(s->queue, status);
}

void qb__spread_close(qb__spread *s) {
    if (!s) return;
    if (s->queue) qb__queue_finish(s->queue);
    QB__MEMORY_DESTROY(s->volume, s->records, s->lines);
    qb__program_release(s->program);
    qb__queue_destroy(s->queue);
    qb__free(s);
}
