/* SPDX-License-Identifier: MIT */
/* Device variants of cone-beam back-projection: each on each device found, against the double-precision
 * oracle. */
#include "base/memory.h"
#include "base/status.h"
#include "case_bp_cone.h"
#include "case_bp_cone_device.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef qb__bp_cone_device_variant device_variant;

enum { DEVICES_MAX = 8, ID_MAX = 80, VARIANTS_MAX = 32, MARGIN = 4096, CANARY = 0xc5 };

static struct {
    size_t devices, variants;
    const device_variant *rows;
    const qb__device_info *info;
    qb__device *open[DEVICES_MAX];
    char id[DEVICES_MAX * VARIANTS_MAX][ID_MAX];
} all;

static void open_all(void) {
    all.rows = qb__bp_cone_device_variants(&all.variants);
    if (all.variants > VARIANTS_MAX) abort();
    if (qb__device_list(&all.info, &all.devices) != QB_OK) all.devices = 0;
    if (all.devices > DEVICES_MAX) all.devices = DEVICES_MAX;
    for (size_t d = 0; d < all.devices; d++) {
        if (qb__device_open(all.info[d].spec, &all.open[d]) != QB_OK)
            fprintf(stderr, "%s: %s\n", all.info[d].spec, qb_detail());
        for (size_t v = 0; v < all.variants; v++)
            snprintf(all.id[d * all.variants + v], ID_MAX, "%s@%s", all.rows[v].head.id, all.info[d].spec);
    }
}

static size_t count(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_all);
    return all.devices * all.variants;
}

static const char *id(size_t i) { return all.id[i]; }
static const device_variant *variant_at(size_t i) { return &all.rows[i % all.variants]; }
static qb__device *device_at(size_t i) { return all.open[i / all.variants]; }
static const qb__device_info *info_at(size_t i) { return &all.info[i / all.variants]; }

static const char *unusable(size_t i, const qb__bp_cone_problem *problem, const int *values) {
    const qb__variant *head = &variant_at(i)->head;
    if (!(head->apis & (unsigned)info_at(i)->api)) return "another api";
    return head->unusable(info_at(i), problem, values);
}

static bool runs_here(size_t i) {
    static const double matrix[1][12] = {{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    const qb__bp_cone_problem plain = {
        .views = 1, .columns = 64, .rows = 64, .nx = 64, .ny = 64, .nz = 64, .matrix = matrix};
    int values[QB__PARAMETERS_MAX];
    if (!device_at(i)) return false;
    for (size_t n = 0; n < qb__parameter_combinations(&variant_at(i)->head); n++) {
        qb__parameter_combination(&variant_at(i)->head, n, values);
        if (!unusable(i, &plain, values)) return true;
    }
    return false;
}

static bool costly(size_t i) { return info_at(i)->is_cpu; }

const kernel_table bp_cone_device_table = {count, id, runs_here, costly};

typedef struct trial {
    const device_variant *variant;
    qb__device *device;
    qb__queue *queue;
    cone_scan scan;
    int values[QB__PARAMETERS_MAX];
} trial;

/* A slab of the grid, in blocks of views -> out, the slab's slices. */
typedef struct pass {
    size_t z0, z1, block;
    qb__bp_cone_window window;
    float *out;
    bool touched; /* a canary changed */
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

/* Rows of the window with strides of their own, NaN between them. */
static float *block_rows(const trial *t, const pass *p, size_t v0, size_t v1, size_t row_stride,
                         size_t view_stride) {
    const size_t columns = t->scan.problem.columns;
    float *rows = malloc(((v1 - v0) * view_stride + 1) * sizeof *rows);
    if (rows) memset(rows, 0xff, (v1 - v0) * view_stride * sizeof *rows);
    for (size_t v = v0; rows && v < v1; v++)
        for (size_t r = p->window.r0; r < p->window.r1; r++)
            memcpy(rows + (v - v0) * view_stride + (r - p->window.r0) * row_stride,
                   cone_image(&t->scan, v) + r * columns, columns * sizeof *rows);
    return rows;
}

static qb_status pack_block(trial *t, rng *r, const pass *p, qb__bp_cone_plan *plan, size_t v0,
                            size_t v1, qb__memory *packed) {
    const size_t row_stride = t->scan.problem.columns + rng_below(r, 9);
    const size_t view_stride = row_stride * (p->window.r1 - p->window.r0) + rng_below(r, 9);
    const size_t bytes = (v1 - v0) * view_stride * sizeof(float);
    float *rows = block_rows(t, p, v0, v1, row_stride, view_stride);
    qb__memory *memory = NULL;
    qb_status status;
    if (!rows) return qb__fail(QB_NO_MEMORY, "rows");
    QB__TRY(qb__memory_create(t->device, bytes + 64, &memory));
    QB__TRY(qb__memory_upload(t->queue, memory, 64, rows, bytes));
    QB__TRY(t->variant->pack(plan, t->queue, memory, 64, view_stride, row_stride, v1 - v0, p->window,
                             packed));
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
    const qb__bp_cone_most most = {p->block, p->window.r1 - p->window.r0 + rng_below(r, 3)};
    const size_t packed_bytes = v->packed_bytes(problem, most, t->values);
    const size_t bytes = (p->z1 - p->z0) * problem->nx * problem->ny * sizeof(float);
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
    for (size_t v0 = 0; v0 < problem->views; v0 += p->block) {
        const size_t v1 = qb__smaller(v0 + p->block, problem->views);
        QB__TRY(pack_block(t, r, p, plan, v0, v1, packed));
        QB__TRY(v->run(plan, t->queue, packed, v0, v1, p->window, p->z0, p->z1, out, MARGIN, v0 > 0));
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
        if (!isfinite(whole->out[i]))
            return snprintf(o->why.s, sizeof o->why.s, "voxel %zu was left out", i), false;
    /* A processor's texture engine may interpolate as it likes, within the class. */
    return cone_accurate(&t->scan, t->variant->head.accuracy, &brick, value_at, &v, r, quick, o);
}

/* The whole grid at once, and some slices of it, from their own rows, in blocks: the same bits. */
static bool verdict(trial *t, rng *r, bool quick, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const size_t slice = p->nx * p->ny, z0 = rng_below(r, p->nz);
    pass whole = {.z1 = p->nz, .block = p->views, .window = {0, p->rows}};
    pass part = {.z0 = z0, .z1 = z0 + 1 + rng_below(r, p->nz - z0), .block = 1 + rng_below(r, p->views)};
    bool ok = false;
    part.window = qb__bp_cone_rows(p, part.z0, part.z1);
    if (part.window.r0 == part.window.r1) part.window = (qb__bp_cone_window){0, 1};
    whole.out = malloc(p->nz * slice * sizeof(float));
    part.out = malloc((part.z1 - part.z0) * slice * sizeof(float));
    if (!whole.out || !part.out)
        snprintf(o->why.s, sizeof o->why.s, "out of memory");
    else if (run_pass(t, r, &whole) != QB_OK || run_pass(t, r, &part) != QB_OK)
        snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
    else if (whole.touched || part.touched)
        snprintf(o->why.s, sizeof o->why.s, "wrote outside its memory");
    else if (accurate(t, &whole, r, quick, o)) {
        ok = !memcmp(whole.out + z0 * slice, part.out, (part.z1 - part.z0) * slice * sizeof(float));
        if (!ok)
            snprintf(o->why.s, sizeof o->why.s, "slices %zu:%zu in blocks of %zu gave other bits",
                     part.z0, part.z1, part.block);
    }
    free(whole.out);
    free(part.out);
    return ok;
}

static void add_problem(const trial *t, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    size_t n = strlen(o->why.s);
    n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n,
                          " (%zu views, %zux%zu pixels, %zux%zux%zu voxels", p->views, p->columns,
                          p->rows, p->nx, p->ny, p->nz);
    for (int i = 0; i < qb__parameter_count(&t->variant->head) && n < sizeof o->why.s; i++)
        n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, ", %s=%d",
                              t->variant->head.parameters[i].name, t->values[i]);
}

/* Compiling for a CPU takes seconds: few sets of parameters have to do in quick runs. */
static size_t random_combination(rng *r, const device_variant *v, bool few) {
    enum { FEW = 3, STRIDE = 7919 };
    const size_t combinations = qb__parameter_combinations(&v->head);
    return few ? rng_below(r, FEW) * STRIDE % combinations : rng_below(r, combinations);
}

static bool check(size_t index, uint64_t seed, bool quick, outcome *o) {
    rng r = {seed};
    const bool slow = info_at(index)->is_cpu;
    trial t = {.variant = variant_at(index), .device = device_at(index)};
    t.scan = random_shape(&r, quick, slow);
    const bool circular = !strncmp(t.variant->head.id, "bp_cone_circular", strlen("bp_cone_circular"));
    const cone_setup setup = cone_random_setup(&r, &t.scan.problem, circular);
    cone_scan_place(&t.scan, &setup, &r);
    cone_scan_fill(&t.scan, &r);
    qb__parameter_combination(&t.variant->head, random_combination(&r, t.variant, quick && slow), t.values);
    bool ok = true;
    if (!unusable(index, &t.scan.problem, t.values)) {
        ok = qb__queue_create(t.device, &t.queue) == QB_OK;
        if (!ok) snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
        ok = ok && verdict(&t, &r, quick, o);
    }
    if (!ok) add_problem(&t, o);
    qb__queue_destroy(t.queue);
    cone_scan_free(&t.scan);
    return ok;
}

static bool bench(size_t index, size_t number, const options *o, measurement *m) {
    return device_at(index) && bp_cone_device_bench(variant_at(index), device_at(index), number, o, m);
}

const kernel_case bp_cone_device_matrix_case = {&bp_cone_device_table, "bp_cone_matrix", check, bench};
