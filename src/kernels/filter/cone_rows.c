/* SPDX-License-Identifier: MIT */
#include "kernels/filter/cone_rows.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/rows/resample_row.h"
#include "geometry/circle.h"
#include "geometry/vector.h"
#include "kernels/macros.h"

/* The same values as in cone_rows.cl. */
enum { MAP_NUMBERS = 16, VIEW_NUMBERS = 12, ITEMS = 256, TAP_NUMBERS = (QB__RESAMPLE_PHASES + 2) * QB__RESAMPLE_TAPS };

struct qb__cone_rows {
    /* lines: detector rows; measured, width: columns of the input and of the output */
    size_t views, rows, lines, measured, width;
    qb__program *program;
    qb__kernel *kernel;
    size_t items;
    qb__memory *taps, *maps, *weights; /* taps and maps are NULL if rows are not resampled */
    qb__memory *shares;                /* redundancy weights of a scan with gaps, else NULL */
    float span, low, high;
};

const char *qb__cone_rows_unfit(const qb__device_info *info) {
    return info->doubles ? NULL
                         : "the device has no double precision, which rows that are made there are compiled with";
}

static bool has_shares(const qb__cone_weights *weights) { return weights->kind == QB_REDUNDANCY_GAPS; }

/* Number of redundancy weights of a view: one for each column of a vertical detector, else one for each of ANGLES
 * evenly spaced fan angles. */
static size_t shares_of(const qb__cone_rows_plan *plan) {
    enum { ANGLES = 2048 };
    return !has_shares(plan->weights) ? 0 : plan->weights->vertical ? plan->geometry->columns : ANGLES;
}

size_t qb__cone_rows_bytes(const qb__cone_rows_plan *plan) {
    const size_t views = plan->geometry->views;
    return views * (VIEW_NUMBERS + shares_of(plan)) * sizeof(float) +
           (plan->virtual_detector ? views * MAP_NUMBERS * sizeof(double) + TAP_NUMBERS * sizeof(float) : 0);
}

/* ---- tables ---- */

static void fill_map(const qb__virtual_detector *virtual_detector, size_t view, double *m) {
    for (int i = 0; i < 9; i++) m[i] = virtual_detector->map[view][i];
    if (!virtual_detector->curve) return;
    const qb__curve *b = &virtual_detector->curve[view];
    const double rest = b->radius - b->depth;
    m[9] = b->touch, m[10] = b->pitch, m[11] = b->radius, m[12] = b->x, m[13] = b->depth, m[14] = b->row;
    m[15] = b->x * b->x + (rest - b->radius) * (rest + b->radius);
}

static void fill_view(const qb_view *view, double beta, float *to) {
    const double angle = qb__view_angle(QB_BEAM_CONE, view), c = cos(angle), s = sin(angle);
    double normal[3], first[3];
    qb__cross(view->u, view->v, normal);
    for (int j = 0; j < 3; j++) first[j] = view->detector[j] - view->source[j];
    const double *const of[] = {first, view->u, view->v};
    for (int i = 0; i < 3; i++) {
        to[3 * i] = (float)(of[i][0] * c + of[i][1] * s);
        to[3 * i + 1] = (float)(of[i][1] * c - of[i][0] * s);
        to[3 * i + 2] = (float)of[i][2];
    }
    to[9] = (float)beta;
    to[10] = (float)(fabs(qb__dot(first, normal)) / qb__norm(normal));
}

static qb_status upload(qb__device *device, qb__queue *queue, const void *bytes, size_t count, qb__memory **memory) {
    QB__OR_RETURN(qb__memory_create(device, count, memory));
    QB__OR_RETURN(qb__memory_upload(queue, *memory, 0, bytes, count));
    QB__OR_RETURN(qb__queue_finish(queue)); /* the caller frees the bytes */
    return QB_OK;
}

/* The fan angles of all pixels lie between those of the corner pixels. */
static void find_fan(const qb_geometry *g, float *low, float *high) {
    double least = INFINITY, most = -INFINITY;
    for (size_t v = 0; v < g->views; v++)
        for (int corner = 0; corner < 4; corner++) {
            const double column = corner & 1 ? (double)g->columns - 1 : 0, row = corner & 2 ? (double)g->rows - 1 : 0;
            const double gamma = qb__cone_fan_angle(&g->view[v], column, row);
            least = fmin(least, gamma);
            most = fmax(most, gamma);
        }
    *low = (float)least;
    *high = (float)most;
}

static qb_status upload_shares(qb__device *device, qb__queue *queue, const qb__cone_rows_plan *plan,
                               qb__cone_rows *rows) {
    const size_t views = plan->geometry->views, count = shares_of(plan);
    float *shares;
    if (count == 0) return QB_OK;
    QB__OR_RETURN(qb__alloc(views * count, sizeof *shares, &shares));
    find_fan(plan->geometry, &rows->low, &rows->high);
    const double step = ((double)rows->high - (double)rows->low) / (double)(count > 1 ? count - 1 : 1);
    for (size_t v = 0; v < views; v++)
        for (size_t i = 0; i < count; i++) {
            const double gamma = plan->weights->vertical ? qb__cone_fan_angle(&plan->geometry->view[v], (double)i, 0)
                                                         : (double)rows->low + (double)i * step;
            shares[v * count + i] = (float)qb__cone_redundancy(plan->weights, v, gamma);
        }
    const qb_status status = upload(device, queue, shares, views * count * sizeof *shares, &rows->shares);
    qb__free(shares);
    return status;
}

static qb_status upload_tables(qb__device *device, const qb__cone_rows_plan *plan, qb__cone_rows *rows) {
    const size_t views = plan->geometry->views;
    qb__queue *queue = NULL;
    double *maps = NULL;
    float *weights = NULL;
    qb_status status;
    QB__TRY(qb__queue_create(device, &queue));
    QB__TRY(qb__alloc(views, VIEW_NUMBERS * sizeof *weights, &weights));
    for (size_t v = 0; v < views; v++)
        fill_view(&plan->geometry->view[v], plan->weights->beta[v], weights + v * VIEW_NUMBERS);
    QB__TRY(upload(device, queue, weights, views * VIEW_NUMBERS * sizeof *weights, &rows->weights));
    QB__TRY(upload_shares(device, queue, plan, rows));
    if (!plan->virtual_detector) goto out;
    QB__TRY(qb__alloc(views, MAP_NUMBERS * sizeof *maps, &maps));
    for (size_t v = 0; v < views; v++) fill_map(plan->virtual_detector, v, maps + v * MAP_NUMBERS);
    QB__TRY(upload(device, queue, maps, views * MAP_NUMBERS * sizeof *maps, &rows->maps));
    QB__TRY(upload(device, queue, plan->taps, TAP_NUMBERS * sizeof *plan->taps, &rows->taps));
out:
    qb__queue_destroy(queue);
    QB__FREE(maps, weights);
    return status;
}

/* ---- create and destroy ---- */

static qb_status build(qb__device *device, const qb__cone_rows_plan *plan, qb__cone_rows *rows) {
    const size_t most = qb__device_info_of(device)->group_size;
    qb__macros m = {.count = 0};
    rows->items = qb__smaller(ITEMS, most);
    qb__macros_add(&m, "COLUMNS", (long long)plan->geometry->columns);
    qb__macros_add(&m, "BEFORE", (long long)plan->weights->before);
    qb__macros_add(&m, "WIDTH", (long long)rows->width);
    qb__macros_add(&m, "MEASURED", (long long)plan->columns);
    qb__macros_add(&m, "DETECTOR_ROWS", (long long)plan->rows);
    qb__macros_add(&m, "RESAMPLED", plan->virtual_detector != NULL);
    qb__macros_add(&m, "CURVED", plan->virtual_detector && plan->virtual_detector->curve);
    qb__macros_add(&m, "VERTICAL", plan->weights->vertical);
    qb__macros_add(&m, "REDUNDANCY", plan->weights->kind);
    qb__macros_add(&m, "SHARES", (long long)shares_of(plan));
    qb__macros_add(&m, "PAD", plan->pad);
    qb__macros_add(&m, "ITEMS", (long long)rows->items);
    qb__macros_add(&m, "TAPS", QB__RESAMPLE_TAPS);
    qb__macros_add(&m, "PHASES", QB__RESAMPLE_PHASES);
    QB__OR_RETURN(qb__program_build(device, "cone_rows.cl", m.list, &rows->program));
    return qb__kernel_get(rows->program, "cone_rows", &rows->kernel);
}

qb_status qb__cone_rows_create(qb__device *device, const qb__cone_rows_plan *plan, qb__cone_rows **out) {
    const char *unfit = qb__cone_rows_unfit(qb__device_info_of(device));
    qb__cone_rows *rows;
    *out = NULL;
    if (unfit) return qb__fail(QB_UNSUPPORTED, "%s: %s", qb__device_info_of(device)->spec, unfit);
    QB__OR_RETURN(qb__alloc(1, sizeof *rows, &rows));
    *rows = (qb__cone_rows){.views = plan->geometry->views,
                            .rows = plan->geometry->rows,
                            .lines = plan->rows,
                            .measured = plan->columns,
                            .width = plan->weights->before + plan->geometry->columns + plan->weights->after,
                            .span = (float)plan->weights->span,
                            .low = (float)plan->weights->gamma_low,
                            .high = (float)plan->weights->gamma_high};
    qb_status status = upload_tables(device, plan, rows);
    if (status == QB_OK) status = build(device, plan, rows);
    if (status == QB_OK)
        *out = rows;
    else
        qb__cone_rows_destroy(rows);
    return status;
}

void qb__cone_rows_destroy(qb__cone_rows *rows) {
    if (!rows) return;
    qb__program_release(rows->program);
    QB__MEMORY_DESTROY(rows->taps, rows->maps, rows->weights, rows->shares);
    qb__free(rows);
}

/* ---- run a block ---- */

static qb_status check(const qb__cone_rows *rows, const qb__cone_rows_block *b, const qb__memory *lines,
                       const qb__memory *out) {
    const bool within = b->view1 <= rows->views && b->row1 <= rows->rows && b->raw0 <= b->raw1 &&
                        b->raw1 <= rows->lines && (rows->maps || (b->raw0 <= b->row0 && b->row1 <= b->raw1));
    const size_t views = b->view1 - b->view0, from = views * (b->raw1 - b->raw0) * rows->measured * sizeof(float);
    const size_t count = views * (b->row1 - b->row0), to = count * rows->width * sizeof(float);
    if (within && count <= INT32_MAX && from <= qb__memory_bytes(lines) && to <= qb__memory_bytes(out)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "rows %zu:%zu of views %zu:%zu from detector rows %zu:%zu, %zu bytes of %zu to %zu of %zu", b->row0,
                    b->row1, b->view0, b->view1, b->raw0, b->raw1, from, qb__memory_bytes(lines), to,
                    qb__memory_bytes(out));
}

qb_status qb__cone_rows_run(const qb__cone_rows *rows, qb__queue *queue, const qb__cone_rows_block *b,
                            const qb__memory *lines, qb__memory *out) {
    if (b->view0 >= b->view1 || b->row0 >= b->row1) return QB_OK;
    QB__OR_RETURN(check(rows, b, lines, out));
    const uint32_t count = (uint32_t)(b->row1 - b->row0), view0 = (uint32_t)b->view0, row0 = (uint32_t)b->row0;
    const uint32_t raw0 = (uint32_t)b->raw0, raw1 = (uint32_t)b->raw1;
    const qb__arg args[] = {QB__MEMORIES(lines, rows->taps, rows->maps, rows->weights, rows->shares, out),
                            QB__VALUES(count, view0, row0, raw0, raw1, rows->span, rows->low, rows->high)};
    const size_t groups[3] = {(b->view1 - b->view0) * count, 1, 1}, group[3] = {rows->items, 1, 1};
    return qb__kernel_launch(rows->kernel, queue, groups, group, args, sizeof args / sizeof args[0]);
}
