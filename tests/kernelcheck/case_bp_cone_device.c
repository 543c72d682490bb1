/* SPDX-License-Identifier: MIT */
/* Device variants of cone-beam back-projection: each on each device found, compared to the double-precision oracle. */
#include "base/memory.h"
#include "base/status.h"
#include "bench_device.h"
#include "case_bp_cone.h"
#include "cases.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "kernels/bp_cone/bp_cone_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef qb__bp_cone_device_variant device_variant;

enum { MARGIN = 4096, CANARY = 0xc5 };

typedef struct trial {
    const device_variant *variant;
    qb__device *device;
    qb__queue *queue;
    cone_scan scan;
    int values[QB__PARAMETERS_MAX];
    size_t turns; /* ranges of views in a block */
} trial;

/* Computes a slab of the grid, in one part or in two, in blocks of views with so many views of each range. out gets the
 * slab's slices. */
typedef struct pass {
    qb__bp_cone_side side[2];
    size_t block;
    float *out;
    bool touched; /* a canary was changed */
} pass;

static cone_scan random_shape(rng *r, bool quick, bool slow) {
    const size_t most = slow ? 60 : quick ? 120 : 250;
    size_t views = cone_log_uniform(r, 1, slow ? 20 : 80);
    size_t columns = cone_log_uniform(r, 1, most), rows = cone_log_uniform(r, 1, most);
    size_t nx = cone_log_uniform(r, 1, most), ny = cone_log_uniform(r, 1, most);
    size_t nz = cone_log_uniform(r, 1, most);
    switch (rng_below(r, 8)) {
    case 0: views = 1; break;
    case 1: columns = rows = 1; break;
    case 2: nx = ny = nz = 1; break;
    case 3: nx = ny = nz = columns = rows; break;
    case 4:
        views = 1 + rng_below(r, 6);
        columns = nx = 2048, ny = nz = 1 + rng_below(r, 6);
        break;
    case 5:
        views = 1 + rng_below(r, 6);
        rows = nz = 2048, nx = ny = 1 + rng_below(r, 6);
        break;
    }
    return cone_scan_new(views, columns, rows, nx, ny, nz);
}

/* Rows of the window for the block's views, with random strides and NaN between them. */
static float *block_rows(const trial *t, const qb__bp_cone_window *window, size_t v0, size_t v1, size_t row_stride,
                         size_t view_stride) {
    const size_t columns = t->scan.problem.columns, range = v1 - v0, views = range * t->turns;
    float *rows = malloc((views * view_stride + 1) * sizeof *rows);
    if (rows) memset(rows, 0xff, views * view_stride * sizeof *rows);
    for (size_t i = 0; rows && i < views; i++)
        for (size_t r = window->r0; r < window->r1; r++) {
            const size_t view = v0 + i % range + i / range * (t->scan.problem.views / t->turns);
            memcpy(rows + i * view_stride + (r - window->r0) * row_stride, cone_image(&t->scan, view) + r * columns,
                   columns * sizeof *rows);
        }
    return rows;
}

static size_t slices_of(const qb__bp_cone_side *side) { return side->z1 - side->z0; }
static size_t rows_of(const qb__bp_cone_side *side) { return side->window.r1 - side->window.r0; }

/* The rows that each part sees; those of the second part follow those of the first. */
static qb_status pack_block(trial *t, rng *r, pass *p, qb__bp_cone_plan *plan, size_t v0, size_t v1,
                            qb__memory *packed) {
    const size_t row_stride = t->scan.problem.columns + rng_below(r, 9), parts = slices_of(&p->side[1]) ? 2 : 1;
    size_t end = 64;
    float *rows = NULL;
    qb__memory *memory = NULL;
    qb_status status;
    for (size_t i = 0; i < parts; i++) {
        p->side[i].offset = end;
        p->side[i].view_stride = row_stride * rows_of(&p->side[i]) + rng_below(r, 9);
        end += (v1 - v0) * t->turns * p->side[i].view_stride * sizeof(float);
    }
    QB__TRY(qb__memory_create(t->device, end, &memory));
    for (size_t i = 0; i < parts; i++) {
        const qb__bp_cone_side *s = &p->side[i];
        free(rows);
        rows = block_rows(t, &s->window, v0, v1, row_stride, s->view_stride);
        if (!rows) status = qb__fail(QB_NO_MEMORY, "rows");
        if (!rows) goto out;
        QB__TRY(qb__memory_upload(t->queue, memory, s->offset, rows,
                                  (v1 - v0) * t->turns * s->view_stride * sizeof(float)));
        QB__TRY(qb__queue_finish(t->queue));
    }
    if (parts > 1)
        QB__TRY(t->variant->pack_sides(plan, t->queue, memory, row_stride, v0, v1, p->side, packed));
    else
        QB__TRY(t->variant->pack(plan, t->queue, memory, 64, p->side[0].view_stride, row_stride, v0, v1,
                                 p->side[0].window, packed));
    QB__TRY(qb__queue_finish(t->queue));
out:
    qb__memory_destroy(memory);
    free(rows);
    return status;
}

static qb_status check_canaries(trial *t, const qb__memory *memory, size_t offset, bool *touched) {
    unsigned char margin[MARGIN];
    qb_status status;
    QB__TRY(qb__memory_download(t->queue, memory, offset, margin, MARGIN));
    QB__TRY(qb__queue_finish(t->queue));
    for (size_t i = 0; i < MARGIN; i++) *touched |= margin[i] != CANARY;
out:
    return status;
}

static qb_status run_pass(trial *t, rng *r, pass *p) {
    const qb__bp_cone_problem *problem = &t->scan.problem;
    const device_variant *v = t->variant;
    const size_t ranges = problem->views / t->turns;
    const qb__bp_cone_most most = {p->block * t->turns, rows_of(&p->side[0]) + rows_of(&p->side[1]) + rng_below(r, 3)};
    const qb__bp_cone_side *one = &p->side[0];
    const size_t packed_bytes = v->packed_bytes(problem, most, t->values);
    const size_t bytes = (slices_of(&p->side[0]) + slices_of(&p->side[1])) * problem->nx * problem->ny * sizeof(float);
    qb__bp_cone_plan *plan = NULL;
    qb__memory *packed = NULL, *out = NULL;
    qb_status status;
    QB__TRY(v->plan(t->device, problem, most, t->values, &plan));
    QB__TRY(qb__memory_create(t->device, packed_bytes + MARGIN, &packed));
    QB__TRY(qb__memory_create(t->device, bytes + 2 * MARGIN, &out));
    QB__TRY(qb__memory_fill(t->queue, packed, 0, 0xff, packed_bytes));
    QB__TRY(qb__memory_fill(t->queue, packed, packed_bytes, CANARY, MARGIN));
    QB__TRY(qb__memory_fill(t->queue, out, 0, CANARY, MARGIN));
    QB__TRY(qb__memory_fill(t->queue, out, MARGIN, 0xff, bytes));
    QB__TRY(qb__memory_fill(t->queue, out, MARGIN + bytes, CANARY, MARGIN));
    for (size_t v0 = 0; v0 < ranges; v0 += p->block) {
        const size_t v1 = qb__smaller(v0 + p->block, ranges);
        QB__TRY(pack_block(t, r, p, plan, v0, v1, packed));
        if (slices_of(&p->side[1]))
            QB__TRY(v->run_sides(plan, t->queue, packed, v0, v1, p->side, out, MARGIN, v0 > 0));
        else
            QB__TRY(v->run(plan, t->queue, packed, v0, v1, one->window, one->z0, one->z1, out, MARGIN, v0 > 0));
    }
    QB__TRY(qb__memory_download(t->queue, out, MARGIN, p->out, bytes));
    QB__TRY(qb__queue_finish(t->queue));
    QB__TRY(check_canaries(t, packed, packed_bytes, &p->touched));
    QB__TRY(check_canaries(t, out, 0, &p->touched));
    QB__TRY(check_canaries(t, out, MARGIN + bytes, &p->touched));
out:
    v->destroy(plan);
    qb__memory_destroy(packed);
    qb__memory_destroy(out);
    return status;
}

typedef struct volume {
    const float *voxel;
    size_t nx, ny;
} volume;

static double value_at(const void *context, size_t x, size_t y, size_t z) {
    const volume *v = context;
    return (double)v->voxel[(z * v->ny + y) * v->nx + x];
}

static bool accurate(const trial *t, const pass *whole, rng *r, bool quick, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const volume v = {whole->out, p->nx, p->ny};
    const qb__bp_cone_brick brick = {0, p->nx, 0, p->ny, 0, p->nz};
    for (size_t i = 0; i < p->nx * p->ny * p->nz; i++)
        if (!isfinite(whole->out[i])) return snprintf(o->why.s, sizeof o->why.s, "voxel %zu was left out", i), false;
    /* OpenCL on a processor may interpolate textures in its own way, within the class. */
    return cone_accurate(&t->scan, t->variant->head.accuracy, &brick, value_at, &v, r, quick, o);
}

static void take_rows(const qb__bp_cone_problem *p, qb__bp_cone_side *side) {
    side->window = qb__bp_cone_rows(p, side->z0, side->z1);
    if (side->window.r0 == side->window.r1) side->window = (qb__bp_cone_window){0};
}

/* Chooses some slices. For a kernel that has slabs in two parts these are mostly slices above the mirror plane and as
 * many below it. */
static pass some_of(const trial *t, rng *r) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const size_t z0 = rng_below(r, p->nz), count = 1 + rng_below(r, p->nz - z0);
    pass part = {.side[0] = {.z0 = z0, .z1 = z0 + count}, .block = 1 + rng_below(r, p->views / t->turns)};
    qb__cone_turns symmetry;
    if (qb__bp_cone_pairs(t->variant, t->values) && !qb__cone_turns_of(p, (int)t->turns, true, &symmetry) &&
        symmetry.twice_z > 0 && rng_below(r, 4)) {
        const size_t twice = (size_t)symmetry.twice_z, above = twice / 2 + 1, last = qb__smaller(p->nz - 1, twice);
        if (above <= last) {
            const size_t u0 = above + rng_below(r, last - above + 1),
                         u1 = u0 + rng_below(r, last - u0 + 1); /* both parts */
            part.side[1] = (qb__bp_cone_side){.z0 = u0, .z1 = u1 + 1};
            part.side[0] = (qb__bp_cone_side){.z0 = twice - u1, .z1 = twice - u0 + 1};
            take_rows(p, &part.side[1]);
        }
    }
    take_rows(p, &part.side[0]);
    /* As in fdk: a part that sees nothing has no rows, but one row must exist. */
    if (!rows_of(&part.side[0]) && !rows_of(&part.side[1])) part.side[0].window.r1 = 1;
    return part;
}

/* Computes the whole grid at once, and some slices again from their own rows in blocks: the same bits. */
static bool verdict(trial *t, rng *r, bool quick, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const size_t slice = p->nx * p->ny;
    pass whole = {.side[0] = {.z1 = p->nz, .window = {0, p->rows}}, .block = p->views / t->turns};
    pass part = some_of(t, r);
    const qb__bp_cone_side *low = &part.side[0], *high = &part.side[1];
    const size_t below = slices_of(low) * slice, above = slices_of(high) * slice;
    bool ok = false;
    whole.out = malloc(p->nz * slice * sizeof(float));
    part.out = malloc((below + above) * sizeof(float));
    if (!whole.out || !part.out)
        snprintf(o->why.s, sizeof o->why.s, "out of memory");
    else if (run_pass(t, r, &whole) != QB_OK || run_pass(t, r, &part) != QB_OK)
        snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
    else if (whole.touched || part.touched)
        snprintf(o->why.s, sizeof o->why.s, "wrote outside its memory");
    else if (accurate(t, &whole, r, quick, o)) {
        ok = !memcmp(whole.out + low->z0 * slice, part.out, below * sizeof(float)) &&
             !memcmp(whole.out + high->z0 * slice, part.out + below, above * sizeof(float));
        if (!ok)
            snprintf(o->why.s, sizeof o->why.s, "slices %zu:%zu and %zu:%zu in blocks of %zu gave other bits", low->z0,
                     low->z1, high->z0, high->z1, part.block);
    }
    free(whole.out);
    free(part.out);
    return ok;
}

static void add_problem(const trial *t, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    size_t n = strlen(o->why.s);
    n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, " (%zu views, %zux%zu pixels, %zux%zux%zu voxels",
                          p->views, p->columns, p->rows, p->nx, p->ny, p->nz);
    for (int i = 0; i < qb__parameter_count(&t->variant->head) && n < sizeof o->why.s; i++)
        n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, ", %s=%d", t->variant->head.parameters[i].name,
                              t->values[i]);
}

/* The geometry that kernels with packed views and rows need: a full turn in a number of steps that divides by four,
 * about the middle of square slices. */
static void make_regular(cone_scan *s, cone_setup *setup) {
    s->problem.views = qb__larger(s->problem.views / 4 * 4, 1);
    s->problem.nx = s->problem.ny = qb__smaller(s->problem.nx, s->problem.ny);
    setup->sweep = setup->sweep < 4 ? -6.283185307179586 : 6.283185307179586;
    setup->offset[0] = setup->offset[1] = 0;
}

/* Tries random sets of parameters and returns one that can be used, if a few attempts find any. A CPU can use few of
 * them, so there all are tried in order, from a random one on. Compiling takes seconds, so quick runs begin with the
 * first or the middle one. */
static void choose_values(trial *t, bool slow, bool quick, rng *r) {
    const qb__variant *head = &t->variant->head;
    const size_t all_of_them = qb__parameter_combinations(head);
    const bool packed = t->variant->turns; /* the packings alone give enough variety */
    const size_t start = !quick ? rng_below(r, all_of_them) : packed ? 0 : rng_below(r, 2) * (all_of_them / 2);
    const size_t attempts = slow ? all_of_them : 24;
    for (size_t i = 0; i < attempts; i++) {
        qb__parameter_combination(head, slow ? (start + i) % all_of_them : rng_below(r, all_of_them), t->values);
        if (!head->unusable(qb__device_info_of(t->device), &t->scan.problem, t->values)) return;
    }
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    rng r = {seed};
    const bool slow = qb__device_info_of(device)->is_cpu;
    trial t = {.variant = qb__bp_cone_on_device(row), .device = device};
    t.scan = random_shape(&r, asked->quick, slow);
    const bool circular = !strncmp(t.variant->head.id, "bp_cone_circular", strlen("bp_cone_circular"));
    cone_setup setup = cone_random_setup(&r, &t.scan.problem, circular);
    if (circular && rng_below(&r, 8)) make_regular(&t.scan, &setup);
    cone_scan_place(&t.scan, &setup, &r);
    cone_scan_fill(&t.scan, &r);
    choose_values(&t, slow, asked->quick, &r);
    t.turns = qb__bp_cone_turns(t.variant, t.values);
    t.scan.alike = t.turns > 1 ? 2 * t.turns : 1; /* rotated and mirrored voxels */
    bool ok = true;
    if (!row->unusable(qb__device_info_of(device), &t.scan.problem, t.values)) {
        ok = qb__queue_create(t.device, &t.queue) == QB_OK;
        if (!ok) snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
        ok = ok && verdict(&t, &r, asked->quick, o);
    }
    if (!ok) add_problem(&t, o);
    qb__queue_destroy(t.queue);
    cone_scan_free(&t.scan);
    return ok;
}

static bool bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    static const size_t edges[] = {512, 1024};
    const bool slow = qb__device_info_of(device)->is_cpu;
    if (number >= (o->quick || o->size || slow ? 1u : 2u)) return false;
    const size_t n = o->size ? o->size : slow ? 64 : edges[number];
    if (!device_bench(row, device, &(qb__trial_sizes){n, n, n, n, n, n, false, NULL}, o, m)) return false;
    snprintf(m->problem.s, sizeof m->problem.s, "%zu^2 pixels, %zu views, %zu^3 voxels", n, n, n);
    return true;
}

const kernel_case bp_cone_device_case = {check, bench};
