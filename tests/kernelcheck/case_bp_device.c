/* SPDX-License-Identifier: MIT */
/* Device variants of parallel-beam back-projection: each on each device found, compared to the double-precision
 * oracle. */
#include "base/status.h"
#include "bench_device.h"
#include "cases.h"
#include "case_bp_parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef qb__bp_parallel_device_variant device_variant;

enum { MARGIN = 4096, CANARY = 0xc5 };

typedef struct trial {
    const device_variant *variant;
    qb__device *device;
    qb__queue *queue;
    scan scan;
    int values[QB__PARAMETERS_MAX];
} trial;

static size_t log_uniform(rng *r, size_t low, size_t high) {
    return (size_t)exp(rng_uniform(r, log((double)low), log((double)high + 0.999)));
}

/* The whole slab is computed, so images are smaller than for CPU tiles. A wide strip still contains the largest
 * coordinates. */
static scan random_scan(rng *r, unsigned slices, bool quick, bool slow) {
    size_t most = slow ? 150 : quick ? 300 : 700;
    size_t views = log_uniform(r, 1, slow ? 40 : 300), columns = log_uniform(r, 1, most);
    size_t nx = log_uniform(r, 1, most), ny = log_uniform(r, 1, most);
    switch (rng_below(r, 10)) {
    case 0: views = 1; break;
    case 1: columns = 1; break;
    case 2: nx = ny = 1; break;
    case 3: nx = ny = columns; break;
    case 4:
        views = 1 + rng_below(r, 10);
        columns = nx = 16384;
        ny = 1 + rng_below(r, 4);
        break;
    }
    double budget = slow ? 2e7 : 2e9;
    while (views > 1 && (double)views * (double)(nx * ny) * slices > budget) views /= 2;
    while (views > 1 && views * columns * slices > 8u << 20) views /= 2;
    scan s = scan_new(views, columns, nx, ny, slices);
    scan_aim(r, &s);
    scan_fill(&s, r);
    return s;
}

/* Computes slices first .. first + slices - 1 into out[slices][ny][nx], in blocks of views, from rows with random
 * strides. Canaries surround the output and follow the packed sinogram. */
typedef struct pass {
    unsigned first, slices;
    float *out;
    bool touched; /* a canary was changed */
} pass;

static float *view_rows(const trial *t, const pass *p, size_t view0, size_t view1, size_t stride) {
    size_t columns = t->scan.problem.columns;
    float *rows = malloc(((view1 - view0) * p->slices * stride + 1) * sizeof *rows);
    for (size_t v = view0; rows && v < view1; v++)
        for (unsigned s = 0; s < p->slices; s++) {
            float *row = rows + ((v - view0) * p->slices + s) * stride;
            memcpy(row, scan_row(&t->scan, p->first + s, v), columns * sizeof *row);
            for (size_t c = columns; c < stride; c++) row[c] = NAN;
        }
    return rows;
}

static qb_status pack_block(trial *t, const pass *p, qb__bp_parallel_plan *plan, size_t view0, size_t view1,
                            size_t stride, qb__memory *packed) {
    float *rows = view_rows(t, p, view0, view1, stride);
    size_t bytes = (view1 - view0) * p->slices * stride * sizeof *rows;
    qb__memory *memory = NULL;
    qb_status status;
    if (!rows) return qb__fail(QB_NO_MEMORY, "rows");
    QB__TRY(qb__memory_create(t->device, bytes + 64, &memory));
    QB__TRY(qb__memory_upload(t->queue, memory, 64, rows, bytes));
    QB__TRY(t->variant->pack(plan, t->queue, memory, 64, p->slices * stride, stride, view0, view1, p->slices, packed));
    QB__TRY(qb__queue_finish(t->queue));
out:
    qb__memory_destroy(memory);
    free(rows);
    return status;
}

static qb_status check_canaries(trial *t, const qb__memory *memory, size_t offset, size_t bytes, bool *touched) {
    unsigned char margin[MARGIN];
    qb_status status;
    QB__TRY(qb__memory_download(t->queue, memory, offset, margin, bytes));
    QB__TRY(qb__queue_finish(t->queue));
    for (size_t i = 0; i < bytes; i++) *touched |= margin[i] != CANARY;
out:
    return status;
}

static qb_status run_pass(trial *t, rng *r, pass *p) {
    qb__bp_parallel_problem problem = t->scan.problem;
    problem.largest += p->first;
    const device_variant *v = t->variant;
    size_t packed_bytes = v->packed_bytes(&problem, qb__variant_padded(&v->head, p->slices), t->values);
    size_t bytes = p->slices * problem.nx * problem.ny * sizeof(float);
    size_t stride = problem.columns + rng_below(r, 9), block = 1 + rng_below(r, problem.views);
    qb__bp_parallel_plan *plan = NULL;
    qb__memory *packed = NULL, *out = NULL;
    qb_status status;
    QB__TRY(v->plan(t->device, &problem, p->slices, t->values, &plan));
    QB__TRY(qb__memory_create(t->device, packed_bytes + MARGIN, &packed));
    QB__TRY(qb__memory_create(t->device, bytes + 2 * MARGIN, &out));
    QB__TRY(qb__memory_fill(t->queue, packed, 0, 0xff, packed_bytes));
    QB__TRY(qb__memory_fill(t->queue, packed, packed_bytes, CANARY, MARGIN));
    QB__TRY(qb__memory_fill(t->queue, out, 0, CANARY, MARGIN));
    QB__TRY(qb__memory_fill(t->queue, out, MARGIN, 0xff, bytes));
    QB__TRY(qb__memory_fill(t->queue, out, MARGIN + bytes, CANARY, MARGIN));
    for (size_t v0 = 0; v0 < problem.views; v0 += block) {
        size_t v1 = v0 + block < problem.views ? v0 + block : problem.views;
        QB__TRY(pack_block(t, p, plan, v0, v1, stride, packed));
    }
    QB__TRY(v->run(plan, t->queue, packed, p->slices, out, MARGIN));
    QB__TRY(qb__memory_download(t->queue, out, MARGIN, p->out, bytes));
    QB__TRY(qb__queue_finish(t->queue));
    QB__TRY(check_canaries(t, packed, packed_bytes, MARGIN, &p->touched));
    QB__TRY(check_canaries(t, out, 0, MARGIN, &p->touched));
    QB__TRY(check_canaries(t, out, MARGIN + bytes, MARGIN, &p->touched));
out:
    v->destroy(plan);
    qb__memory_destroy(packed);
    qb__memory_destroy(out);
    return status;
}

static bool accurate(const trial *t, const pass *p, rng *r, bool quick, outcome *o) {
    const scan *s = &t->scan;
    size_t nx = s->problem.nx, ny = s->problem.ny, voxels = nx * ny * p->slices;
    size_t budget = quick ? 300000 : 2000000, samples = budget / s->problem.views + 1;
    if (samples > 2 * voxels) samples = 2 * voxels;
    /* The weights are the same in all slices, so their errors are, too. */
    errors e = {.distinct = scan_independent(s, nx, ny), .views = s->problem.views};
    for (size_t i = 0; i < voxels; i++)
        if (!isfinite(p->out[i])) {
            snprintf(o->why.s, sizeof o->why.s, "voxel %zu,%zu,%zu was left out", i % nx, i / nx % ny, i / nx / ny);
            return false;
        }
    for (size_t i = 0; i < samples; i++) {
        size_t x = rng_below(r, nx), y = rng_below(r, ny);
        unsigned z = (unsigned)rng_below(r, p->slices);
        double unit = (double)s->largest[p->first + z];
        errors_add(&e, (double)p->out[(z * ny + y) * nx + x] / unit,
                   scan_reference(s, t->variant->head.interp, p->first + z, x, y) / unit);
    }
    return errors_within(&e, t->variant->head.accuracy, o);
}

static bool verdict(trial *t, rng *r, bool quick, outcome *o) {
    size_t pixels = t->scan.problem.nx * t->scan.problem.ny;
    unsigned slices = t->scan.slices, first = (unsigned)rng_below(r, slices);
    pass whole = {0, slices, malloc(slices * pixels * sizeof(float)), false};
    pass part = {first, 1 + (unsigned)rng_below(r, slices - first), NULL, false};
    part.out = malloc(part.slices * pixels * sizeof(float));
    bool ok = false;
    if (!whole.out || !part.out)
        snprintf(o->why.s, sizeof o->why.s, "out of memory");
    else if (run_pass(t, r, &whole) != QB_OK || run_pass(t, r, &part) != QB_OK)
        snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
    else if (whole.touched || part.touched)
        snprintf(o->why.s, sizeof o->why.s, "wrote outside its memory");
    else if (memcmp(whole.out + first * pixels, part.out, part.slices * pixels * sizeof(float)))
        snprintf(o->why.s, sizeof o->why.s, "another cut gave other bits");
    else
        ok = accurate(t, &whole, r, quick, o);
    free(whole.out);
    free(part.out);
    return ok;
}

static void add_problem(const trial *t, outcome *o) {
    const qb__bp_parallel_problem *p = &t->scan.problem;
    size_t n = strlen(o->why.s);
    n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, " (%zu views, %zu columns, %zux%zu pixels, %u slices",
                          p->views, p->columns, p->nx, p->ny, t->scan.slices);
    for (int i = 0; i < qb__parameter_count(&t->variant->head) && n < sizeof o->why.s; i++)
        n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, ", %s=%d", t->variant->head.parameters[i].name,
                              t->values[i]);
}

/* Compiling for a CPU takes seconds, so quick runs use few sets of parameters. */
static size_t random_combination(rng *r, const device_variant *v, bool few) {
    enum { FEW = 3, STRIDE = 7919 };
    size_t count = qb__parameter_combinations(&v->head);
    return few ? rng_below(r, FEW) * STRIDE % count : rng_below(r, count);
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    rng r = {seed};
    const qb__device_info *info = qb__device_info_of(device);
    trial t = {.variant = qb__bp_parallel_on_device(row), .device = device};
    unsigned most = info->is_cpu ? 12 : 70;
    if (t.variant->head.most && t.variant->head.most < most) most = t.variant->head.most;
    t.scan = random_scan(&r, 1 + (unsigned)rng_below(&r, most), asked->quick, info->is_cpu);
    qb__parameter_combination(&t.variant->head, random_combination(&r, t.variant, asked->quick && info->is_cpu),
                              t.values);
    bool ok = true;
    if (!row->unusable(info, &t.scan.problem, t.values)) {
        if (qb__queue_create(t.device, &t.queue) != QB_OK) {
            snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
            ok = false;
        } else {
            ok = verdict(&t, &r, asked->quick, o);
        }
    }
    if (!ok) add_problem(&t, o);
    qb__queue_destroy(t.queue);
    scan_free(&t.scan);
    return ok;
}

static bool bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    static const size_t edges[] = {1024, 2048};
    const bool slow = qb__device_info_of(device)->is_cpu;
    if (number >= (o->quick || o->size || slow ? 1u : 2u)) return false;
    const size_t n = o->size ? o->size : slow ? 256 : edges[number], usual = slow ? 16 : 128;
    const size_t slices = row->most && row->most < usual ? row->most : usual;
    if (!device_bench(row, device, &(qb__trial_sizes){n, n, 1, n, n, slices, false, NULL}, o, m)) return false;
    m->scalar = bp_parallel_scalar_speed(row->interp);
    snprintf(m->problem.s, sizeof m->problem.s, "%zux%zu pixels, %zu views, %zu slice%s", n, n, n, slices,
             slices == 1 ? "" : "s");
    return true;
}

const kernel_case bp_device_case = {check, bench};
