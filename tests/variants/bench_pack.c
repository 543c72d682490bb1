/* SPDX-License-Identifier: MIT */
/* Times the packing of rows into the layouts of the device variants, next to a copy of as many bytes.
 *   bench_pack DEVICE VIEWS COLUMNS SLICES
 * Prints a line for each layout: giga-bytes/s read and written, those of the copy (as many bytes read and written,
 * measured just before and after), and the ratio. At the end are the variants that pack for themselves. Exit code 1 if
 * something failed. */
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "geometry/parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "kernels/bp_parallel/bp_parallel_layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 5, REPEATS = 10 };

typedef struct bench {
    qb__bp_parallel_problem problem;
    unsigned slices;
    qb__device *device;
    qb__queue *queue;
    qb__event *begin, *end;
    qb__memory *rows, *packed;
    int repeats;
} bench;

/* The layout or the variant that packs; both NULL: a copy. */
typedef struct job {
    const qb__pack *pack;
    const qb__bp_parallel_device_variant *variant;
    qb__bp_parallel_plan *plan;
    size_t bytes; /* read and written */
} job;

static qb_status enqueue(bench *b, const job *j) {
    const qb__bp_parallel_problem *p = &b->problem;
    const size_t slice = p->views * p->columns;
    const unsigned slices = b->slices;
    if (j->pack)
        return qb__pack_run(j->pack, b->queue, p, b->rows, 0, p->columns, slice, 0, p->views, slices, b->packed);
    if (j->variant)
        return j->variant->pack(j->plan, b->queue, b->rows, 0, p->columns, slice, 0, p->views, slices, b->packed);
    return qb__memory_copy(b->queue, b->packed, 0, b->rows, 0, j->bytes / 2);
}

/* The fastest of a few runs, in giga-bytes/s. */
static qb_status rate(bench *b, const job *j, double *gigabytes) {
    double least = INFINITY;
    qb_status status;
    QB__TRY(enqueue(b, j));
    for (int i = 0; i < RUNS; i++) {
        double seconds;
        QB__TRY(qb__event_record(b->begin, b->queue));
        for (int r = 0; r < b->repeats; r++) QB__TRY(enqueue(b, j));
        QB__TRY(qb__event_record(b->end, b->queue));
        QB__TRY(qb__queue_finish(b->queue));
        QB__TRY(qb__event_seconds(b->begin, b->end, &seconds));
        least = fmin(least, seconds / b->repeats);
    }
    *gigabytes = (double)j->bytes / least * 1e-9;
out:
    return status;
}

/* The faster of the two copies counts. */
static qb_status share(bench *b, const job *j, double *gigabytes, double *copied) {
    const job copy = {.bytes = j->bytes};
    double again;
    qb_status status;
    QB__TRY(rate(b, &copy, copied));
    QB__TRY(rate(b, j, gigabytes));
    QB__TRY(rate(b, &copy, &again));
    *copied = fmax(*copied, again);
out:
    return status;
}

static void print(double gigabytes, double copied) {
    printf("\"gigabytes_per_second\": %.0f, \"copy\": %.0f, \"share\": %.3f}\n", gigabytes, copied, gigabytes / copied);
    fflush(stdout);
}

static size_t bytes_read(const bench *b) { return b->slices * b->problem.views * b->problem.columns * sizeof(float); }

/* ---- layouts ---- */

static qb_status layout(bench *b, unsigned group, bool half) {
    qb__pack pack;
    double gigabytes, copied;
    qb_status status = qb__pack_create(b->device, group, half, &pack);
    if (status) return status;
    const job j = {.pack = &pack, .bytes = bytes_read(b) + qb__pack_bytes(&b->problem, b->slices, group, half)};
    QB__TRY(share(b, &j, &gigabytes, &copied));
    printf("{\"layout\": \"%u %s\", ", group, half ? "halves" : "floats");
    print(gigabytes, copied);
out:
    qb__pack_destroy(&pack);
    return status;
}

/* ---- variants of their own ---- */

static qb_status variant(bench *b, const qb__bp_parallel_device_variant *v) {
    const qb__bp_parallel_problem *p = &b->problem;
    const unsigned padded = (b->slices + v->head.step - 1) / v->head.step * v->head.step;
    int values[QB__PARAMETERS_MAX] = {0};
    double gigabytes, copied;
    job j = {.variant = v};
    qb_status status;
    for (int i = 0; i < QB__PARAMETERS_MAX && v->head.parameters[i].name; i++)
        values[i] = v->head.parameters[i].values[0];
    if (v->head.unusable(qb__device_info_of(b->device), p, values)) return QB_OK;
    j.bytes = bytes_read(b) + v->packed_bytes(p, padded, values);
    if (j.bytes - bytes_read(b) > qb__memory_bytes(b->packed)) return QB_OK;
    QB__TRY(v->plan(b->device, p, padded, values, &j.plan));
    QB__TRY(share(b, &j, &gigabytes, &copied));
    printf("{\"layout\": \"%s\", ", v->head.id);
    print(gigabytes, copied);
out:
    v->destroy(j.plan);
    return status;
}

static qb_status upload_noise(bench *b) {
    float *noise;
    qb_status status = qb__alloc(bytes_read(b), 1, &noise);
    if (status) return status;
    qb__noise(noise, bytes_read(b) / sizeof *noise, 1);
    QB__TRY(qb__memory_upload(b->queue, b->rows, 0, noise, bytes_read(b)));
    QB__TRY(qb__queue_finish(b->queue));
out:
    qb__free(noise);
    return status;
}

static qb_status all(bench *b) {
    const qb__device_info *info = qb__device_info_of(b->device);
    /* Two halves for each value and some padding: the size that the variant with split data needs. */
    const size_t room = bytes_read(b) + bytes_read(b) / 2 + (1 << 20);
    size_t count;
    qb_status status;
    b->repeats = info->is_cpu ? 1 : REPEATS;
    QB__TRY(qb__queue_create(b->device, &b->queue));
    QB__TRY(qb__event_create(b->device, &b->begin));
    QB__TRY(qb__event_create(b->device, &b->end));
    QB__TRY(qb__memory_create(b->device, room, &b->rows));
    QB__TRY(qb__memory_create(b->device, room, &b->packed));
    QB__TRY(upload_noise(b));
    for (unsigned group = 1; group <= 8; group *= 2)
        for (int half = 0; half < 2; half++)
            if (half || group < 8) QB__TRY(layout(b, group, half));
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i]->pack != qb__layout_pack && (rows[i]->head.apis & info->api)) QB__TRY(variant(b, rows[i]));
out:
    qb__memory_destroy(b->rows), qb__memory_destroy(b->packed);
    qb__event_destroy(b->begin), qb__event_destroy(b->end);
    qb__queue_destroy(b->queue);
    return status;
}

int main(int argc, char **argv) {
    bench b = {0};
    if (argc < 5) {
        fprintf(stderr, "bench_pack DEVICE VIEWS COLUMNS SLICES\n");
        return 2;
    }
    const size_t views = (size_t)atoi(argv[2]), n = (size_t)atoi(argv[3]);
    double *coefficients = NULL;
    float *largest = NULL;
    b.slices = (unsigned)atoi(argv[4]);
    b.problem = (qb__bp_parallel_problem){.views = views, .columns = n, .nx = n, .ny = n};
    qb_status status = qb__half_turn(&b.problem, &coefficients);
    if (!status) status = qb__alloc(b.slices, sizeof *largest, &largest);
    for (unsigned i = 0; largest && i < b.slices; i++) largest[i] = 1; /* qb__noise */
    b.problem.largest = largest;
    if (!status) status = qb__device_open(argv[1], &b.device);
    if (!status) status = all(&b);
    if (status) fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
    qb__device_close(b.device);
    qb__free(coefficients);
    qb__free(largest);
    return status != QB_OK;
}
