/* SPDX-License-Identifier: MIT */
#include "kernels/filter/phase_planes.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/filter/filter_device_parts.h"

enum {
    HELD = 16,        /* complex numbers of a work item */
    PASSES = 4,       /* passes of fft_lines.clh before the last one */
    LANES = 16,       /* largest number of neighbouring columns transformed together */
    USUAL_ITEMS = 512 /* usual number of work items of a group of columns */
};

/* Distribution of lines of one length over work items. */
typedef struct lines {
    qb__filter_plan plan;
    size_t length, items, lanes, local_bytes;
} lines;

struct qb__phase_planes {
    qb__phase_shape shape;
    size_t at_once;
    float top, most, scale, unsharp, share, offset;
    lines along, across;                                   /* along: rows of planes; across: columns of planes */
    qb__memory *dark, *gain, *beam, *stuck, *mode, *drift; /* a buffer of one number if the field does not exist */
    qb__memory *column, *row, *mean_column, *mean_row, *spread_column, *spread_row;
    qb__memory *roots[2]; /* exp(-2 pi i k/length) for rows and for columns */
    qb__memory *line, *good, *plane;
    qb__program *program[2];
    qb__kernel *seen, *forth, *back, *columns;
};

/* ---- sizes ---- */

static size_t pairs_of(const qb__phase_shape *s) { return qb__ceil_div(s->rows, 2 * s->step); }

void qb__phase_planes_reads(const qb__phase_shape *s, qb__phase_block *block) {
    const size_t both = 2 * s->step, begin = block->first / both * both, end = qb__ceil_div(block->end, both) * both;
    block->row0 = begin > s->margin ? begin - s->margin : 0;
    block->row1 = qb__smaller(s->rows, end + s->margin);
}

/* Local memory for `lanes` lines, as PLACE in fft_lines.clh uses it. */
static size_t room(size_t length, size_t lanes) {
    return (lanes > 1 ? length * lanes : length + length / 16 + 1) * 2 * sizeof(float);
}

static const char *share_lines(size_t length, size_t most_lanes, const qb__device_info *info, lines *l) {
    *l = (lines){.length = length, .items = qb__ceil_div(length, HELD), .lanes = 1};
    if (!qb__filter_radices(length, &l->plan)) return "the length has other factors than 2, 3 and 5";
    if (l->plan.passes > PASSES) return "the length takes too many passes";
    for (size_t held = 2 * HELD; l->items > info->group_size; held *= 2) {
        if (held > 4 * HELD) return "a group has too few work items for a line";
        l->items = qb__ceil_div(length, held);
    }
    for (size_t lanes = 2; lanes <= most_lanes; lanes *= 2) {
        const bool usual = lanes * l->items <= USUAL_ITEMS && 2 * room(length, lanes) <= info->local_bytes;
        const bool can = lanes * l->items <= info->group_size && room(length, lanes) <= info->local_bytes;
        if (usual || (can && lanes <= 4)) l->lanes = lanes;
    }
    l->local_bytes = room(length, l->lanes);
    return l->local_bytes > info->local_bytes ? "a line is larger than local memory" : NULL;
}

const char *qb__phase_planes_unfit(const qb__device_info *info, const qb__phase_shape *shape, qb_dtype dtype) {
    lines along, across;
    if (dtype == QB_F64 && !info->doubles) return "it has no double precision";
    if (shape->rows == 1) return "the detector has one row";
    const char *why = share_lines(shape->stride, 1, info, &along);
    return why ? why : share_lines(shape->height, LANES, info, &across);
}

/* Bytes of the lines, and of the planes, of the views that are held together. */
static size_t line_bytes(const qb__phase_plan *p) {
    return p->at_once * p->shape.rows * p->shape.columns * sizeof(float);
}
static size_t plane_bytes(const qb__phase_plan *p) {
    return p->at_once * pairs_of(&p->shape) * p->shape.height * p->shape.stride * 2 * sizeof(float);
}

size_t qb__phase_planes_bytes(const qb__phase_plan *p) {
    const size_t pixels = p->shape.rows * p->shape.columns,
                 fields = (p->dark != NULL) + 2 * (p->gain != NULL) + p->modes;
    return fields * pixels * sizeof(float) + (p->stuck ? pixels : 0) + line_bytes(p) + plane_bytes(p) +
           p->at_once * p->shape.rows * sizeof(int) + p->views * (p->modes + 1) * sizeof(float) +
           5 * (p->shape.height + p->shape.stride) * sizeof(float);
}

/* ---- create ---- */

static qb_status upload(qb__device *device, qb__queue *queue, const void *from, size_t bytes, qb__memory **memory) {
    static const float none = 0;
    if (!from) bytes = sizeof none;
    const qb_status status = qb__memory_create(device, bytes, memory);
    return status == QB_OK ? qb__memory_upload(queue, *memory, 0, from ? from : &none, bytes) : status;
}

/* Uploads exp(-2 pi i k/length). */
static qb_status upload_roots(qb__device *device, qb__queue *queue, size_t length, qb__memory **memory) {
    float *roots;
    QB__OR_RETURN(qb__alloc(length, 2 * sizeof *roots, &roots));
    for (size_t k = 0; k < length; k++) {
        const double angle = 2 * M_PI * (double)k / (double)length;
        roots[2 * k] = (float)cos(angle);
        roots[2 * k + 1] = -(float)sin(angle);
    }
    qb_status status = upload(device, queue, roots, length * 2 * sizeof *roots, memory);
    if (status == QB_OK) status = qb__queue_finish(queue);
    qb__free(roots);
    return status;
}

static qb_status upload_fields(qb__device *device, qb__queue *queue, const qb__phase_plan *plan, qb__phase_planes *p) {
    const size_t pixels = plan->shape.rows * plan->shape.columns, bytes = pixels * sizeof(float);
    QB__OR_RETURN(upload(device, queue, plan->dark, bytes, &p->dark));
    QB__OR_RETURN(upload(device, queue, plan->gain, bytes, &p->gain));
    QB__OR_RETURN(upload(device, queue, plan->beam, bytes, &p->beam));
    QB__OR_RETURN(upload(device, queue, plan->stuck, pixels, &p->stuck));
    QB__OR_RETURN(upload(device, queue, plan->drift, plan->views * (plan->modes + 1) * sizeof(float), &p->drift));
    QB__OR_RETURN(qb__memory_create(device, plan->modes ? plan->modes * bytes : sizeof(float), &p->mode));
    for (size_t k = 0; k < plan->modes; k++)
        QB__OR_RETURN(qb__memory_upload(queue, p->mode, k * bytes, plan->mode + k * plan->mode_apart, bytes));
    return QB_OK;
}

static qb_status upload_filter(qb__device *device, qb__queue *queue, const qb__phase_plan *plan, qb__phase_planes *p) {
    const size_t width = plan->shape.stride * sizeof(float), height = plan->shape.height * sizeof(float);
    QB__OR_RETURN(upload(device, queue, plan->column, width, &p->column));
    QB__OR_RETURN(upload(device, queue, plan->row, height, &p->row));
    QB__OR_RETURN(upload(device, queue, plan->mean_column, width, &p->mean_column));
    QB__OR_RETURN(upload(device, queue, plan->mean_row, height, &p->mean_row));
    QB__OR_RETURN(upload(device, queue, plan->spread_column, width, &p->spread_column));
    QB__OR_RETURN(upload(device, queue, plan->spread_row, height, &p->spread_row));
    QB__OR_RETURN(upload_roots(device, queue, plan->shape.stride, &p->roots[0]));
    return upload_roots(device, queue, plan->shape.height, &p->roots[1]);
}

static void define_lines(const lines *l, qb__macros *m) {
    static const char *const names[PASSES] = {"RADIX0", "RADIX1", "RADIX2", "RADIX3"};
    for (int i = 0; i < PASSES; i++) qb__macros_add(m, names[i], i < l->plan.passes ? l->plan.radix[i] : 1);
    qb__macros_add(m, "RADIX_LAST", l->plan.last);
    qb__macros_add(m, "LENGTH", (long long)l->length);
    qb__macros_add(m, "ITEMS", (long long)l->items);
    qb__macros_add(m, "LANES", (long long)l->lanes);
}

static qb_status build_rows(qb__device *device, const qb__phase_plan *plan, qb__phase_planes *p) {
    qb__macros m = {.count = 0};
    define_lines(&p->along, &m);
    qb__define_raw(&m, plan->dtype);
    qb__macros_add(&m, "COLUMNS", (long long)plan->shape.columns);
    qb__macros_add(&m, "HEIGHT", (long long)plan->shape.height);
    qb__macros_add(&m, "LEFT", (long long)plan->shape.left);
    qb__macros_add(&m, "LOGARITHM", 1);
    qb__macros_add(&m, "HAS_DARK", plan->dark != NULL);
    qb__macros_add(&m, "HAS_GAIN", plan->gain != NULL);
    qb__macros_add(&m, "HAS_AIR", 0);
    qb__macros_add(&m, "HAS_FLAT", plan->gain != NULL);
    qb__macros_add(&m, "HAS_STUCK", plan->stuck != NULL);
    qb__macros_add(&m, "DRIFT", (long long)plan->modes);
    QB__OR_RETURN(qb__program_build(device, "phase_rows.cl", m.list, &p->program[0]));
    QB__OR_RETURN(qb__kernel_get(p->program[0], "phase_lines", &p->seen));
    QB__OR_RETURN(qb__kernel_get(p->program[0], "phase_forth", &p->forth));
    return qb__kernel_get(p->program[0], "phase_back", &p->back);
}

static qb_status build_columns(qb__device *device, const qb__phase_plan *plan, qb__phase_planes *p) {
    qb__macros m = {.count = 0};
    define_lines(&p->across, &m);
    qb__macros_add(&m, "UNSHARP", plan->unsharp > 0);
    qb__macros_add(&m, "SPREAD", plan->share > 0);
    const qb_status status = qb__program_build(device, "phase_columns.cl", m.list, &p->program[1]);
    return status == QB_OK ? qb__kernel_get(p->program[1], "phase_columns", &p->columns) : status;
}

qb_status qb__phase_planes_create(qb__device *device, qb__queue *queue, const qb__phase_plan *plan,
                                  qb__phase_planes **out) {
    const qb__device_info *info = qb__device_info_of(device);
    const char *why = qb__phase_planes_unfit(info, &plan->shape, plan->dtype);
    qb__phase_planes *p = NULL;
    qb_status status;
    *out = NULL;
    if (why) return qb__fail(QB_UNSUPPORTED, "%s: phase retrieval: %s", info->spec, why);
    QB__TRY(qb__alloc(1, sizeof *p, &p));
    *p = (qb__phase_planes){.shape = plan->shape,
                            .at_once = plan->at_once,
                            .top = plan->top,
                            .most = plan->most,
                            .scale = plan->scale,
                            .unsharp = plan->unsharp,
                            .share = plan->share,
                            .offset = plan->offset};
    share_lines(plan->shape.stride, 1, info, &p->along);
    share_lines(plan->shape.height, LANES, info, &p->across);
    QB__TRY(upload_fields(device, queue, plan, p));
    QB__TRY(upload_filter(device, queue, plan, p));
    QB__TRY(qb__memory_create(device, line_bytes(plan), &p->line));
    QB__TRY(qb__memory_create(device, plane_bytes(plan), &p->plane));
    QB__TRY(qb__memory_create(device, plan->at_once * plan->shape.rows * sizeof(int), &p->good));
    QB__TRY(build_rows(device, plan, p));
    QB__TRY(build_columns(device, plan, p));
    QB__TRY(qb__queue_finish(queue));
out:
    if (status != QB_OK) {
        qb__phase_planes_destroy(p);
        return qb__queue_finish_after(queue, status);
    }
    *out = p;
    return QB_OK;
}

void qb__phase_planes_destroy(qb__phase_planes *p) {
    if (!p) return;
    qb__memory *const all[] = {p->dark,     p->gain,     p->beam,        p->stuck,    p->mode,          p->drift,
                               p->column,   p->row,      p->mean_column, p->mean_row, p->spread_column, p->spread_row,
                               p->roots[0], p->roots[1], p->line,        p->good,     p->plane};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__memory_destroy(all[i]);
    for (int i = 0; i < 2; i++) qb__program_release(p->program[i]);
    qb__free(p);
}

/* ---- run ---- */

/* Arguments that the kernels have in common for some views. */
typedef struct part {
    uint32_t pair0, pairs, step, margin, skip, view0, row0, rows, first, end, detector, views;
    uint64_t apart;
} part;

static qb_status launch(qb__kernel *kernel, qb__queue *queue, size_t groups, size_t items, const qb__arg *args,
                        size_t count) {
    const size_t all[3] = {groups, 1, 1}, group[3] = {items, 1, 1};
    return qb__kernel_launch(kernel, queue, all, group, args, count);
}

static qb_status run_lines(const qb__phase_planes *p, qb__queue *queue, const part *b, const qb__memory *raw) {
    enum { ITEMS = 128 };
    const qb__arg args[] = {QB__MEMORIES(raw, p->dark, p->gain, p->beam, p->stuck, p->mode, p->drift, p->line, p->good),
                            QB__VALUES(b->skip, b->view0, b->row0, b->rows, b->apart, p->top, p->most)};
    return launch(p->seen, queue, (size_t)b->views * b->rows, ITEMS, args, sizeof args / sizeof *args);
}

static qb_status run_forth(const qb__phase_planes *p, qb__queue *queue, const part *b) {
    const qb__arg args[] = {QB__MEMORIES(p->line, p->good, p->roots[0], p->plane),
                            QB__VALUES(b->pair0, b->pairs, b->step, b->margin, b->row0, b->rows, b->detector),
                            QB__LOCAL(p->along.local_bytes)};
    return launch(p->forth, queue, (size_t)b->views * b->pairs * p->shape.height, p->along.items, args,
                  sizeof args / sizeof *args);
}

static qb_status run_columns(const qb__phase_planes *p, qb__queue *queue, const part *b) {
    const uint32_t width = (uint32_t)p->shape.stride;
    const qb__arg args[] = {QB__MEMORIES(p->plane, p->roots[1], p->column, p->row, p->mean_column, p->mean_row,
                                         p->spread_column, p->spread_row),
                            QB__VALUES(width, p->scale, p->unsharp, p->share), QB__LOCAL(p->across.local_bytes)};
    const size_t groups = (size_t)b->views * b->pairs * qb__ceil_div(p->shape.stride, p->across.lanes);
    return launch(p->columns, queue, groups, p->across.items * p->across.lanes, args, sizeof args / sizeof *args);
}

static qb_status run_back(const qb__phase_planes *p, qb__queue *queue, const part *b, const qb__memory *raw,
                          qb__memory *out) {
    const qb__arg args[] = {
        QB__MEMORIES(raw, p->dark, p->gain, p->beam, p->stuck, p->mode, p->drift, p->roots[0], p->plane, out),
        QB__VALUES(b->pair0, b->pairs, b->step, b->margin, b->skip, b->view0, b->row0, b->rows, b->first, b->end,
                   b->apart, p->top),
        QB__VALUES(p->most, p->offset), QB__LOCAL(p->along.local_bytes)};
    return launch(p->back, queue, (size_t)b->views * b->pairs * p->shape.step, p->along.items, args,
                  sizeof args / sizeof *args);
}

qb_status qb__phase_planes_run(qb__phase_planes *p, qb__queue *queue, const qb__phase_block *block,
                               const qb__memory *raw, qb__memory *out) {
    const qb__phase_shape *s = &p->shape;
    const size_t both = 2 * s->step, pair0 = block->first / both, pairs = qb__ceil_div(block->end, both) - pair0;
    part b = {.pair0 = (uint32_t)pair0,
              .pairs = (uint32_t)pairs,
              .step = (uint32_t)s->step,
              .margin = (uint32_t)s->margin,
              .view0 = (uint32_t)block->view0,
              .row0 = (uint32_t)block->row0,
              .rows = (uint32_t)(block->row1 - block->row0),
              .first = (uint32_t)block->first,
              .end = (uint32_t)block->end,
              .detector = (uint32_t)s->rows,
              .apart = s->rows * s->columns};
    qb_status status = QB_OK;
    for (size_t view = 0; view < block->views && status == QB_OK; view += p->at_once) {
        b.skip = (uint32_t)view;
        b.views = (uint32_t)qb__smaller(p->at_once, block->views - view);
        QB__TRY(run_lines(p, queue, &b, raw));
        QB__TRY(run_forth(p, queue, &b));
        QB__TRY(run_columns(p, queue, &b));
        QB__TRY(run_back(p, queue, &b, raw, out));
    }
out:
    return status;
}
