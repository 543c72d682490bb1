/* SPDX-License-Identifier: MIT */
/* Computes one slice with every variant that a device can run, each into a file, for bench/quality_backprojection.py.
 *   slice_bp_parallel DEVICE ROWS ANGLES CENTER SIZE FOLDER
 * ROWS: filtered rows, float32 [view][column]; ANGLES: float64 radians [view]; CENTER: column of the axis; SIZE: pixels
 * on a side. FOLDER/ID.f32: float32 [y][x]. */
#include "base/memory.h"
#include "base/status.h"
#include "kernels/bp_parallel/bp_parallel_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *read_all(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*bytes ? *bytes : 1);
    if (data && fread(data, 1, *bytes, file) != *bytes) free(data), data = NULL;
    fclose(file);
    return data;
}

static int write_slice(const char *folder, const char *id, const float *pixels, size_t count) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.f32", folder, id);
    FILE *file = fopen(path, "wb");
    if (!file) return perror(path), 1;
    int failed = fwrite(pixels, sizeof *pixels, count, file) != count;
    return fclose(file) != 0 || failed;
}

/* The scan, and its copy on the device. */
typedef struct scan {
    qb__bp_parallel_problem problem;
    float *rows, largest, *pixels;
    double *ax, *ay, *h0;
    qb__device *device;
    qb__queue *queue;
    qb__memory *on_device, *out;
} scan;

static void fill(scan *s, size_t views, size_t columns, size_t size, const double *angles, double center) {
    const double middle = ((double)size - 1) / 2;
    for (size_t i = 0; i < views * columns; i++) s->largest = fmaxf(s->largest, fabsf(s->rows[i]));
    for (size_t v = 0; v < views; v++) {
        s->ax[v] = cos(angles[v]), s->ay[v] = sin(angles[v]);
        s->h0[v] = center - (s->ax[v] + s->ay[v]) * middle;
    }
    s->problem = (qb__bp_parallel_problem){.views = views,
                                           .columns = columns,
                                           .nx = size,
                                           .ny = size,
                                           .ax = s->ax,
                                           .ay = s->ay,
                                           .h0 = s->h0,
                                           .largest = &s->largest};
}

static qb_status upload(scan *s, const char *device) {
    const qb__bp_parallel_problem *p = &s->problem;
    const size_t bytes = p->views * p->columns * sizeof *s->rows;
    qb_status status;
    QB__TRY(qb__device_open(device, &s->device));
    QB__TRY(qb__queue_create(s->device, &s->queue));
    QB__TRY(qb__memory_create(s->device, bytes, &s->on_device));
    QB__TRY(qb__memory_create(s->device, p->nx * p->ny * sizeof *s->pixels, &s->out));
    QB__TRY(qb__memory_upload(s->queue, s->on_device, 0, s->rows, bytes));
    QB__TRY(qb__queue_finish(s->queue));
out:
    return status;
}

static qb_status slice(scan *s, const qb__bp_parallel_device_variant *v, const int *values) {
    const qb__bp_parallel_problem *p = &s->problem;
    const unsigned padded = qb__variant_padded(&v->head, 1);
    qb__bp_parallel_plan *plan = NULL;
    qb__memory *packed = NULL;
    qb_status status;
    QB__TRY(v->plan(s->device, p, padded, values, &plan));
    QB__TRY(qb__memory_create(s->device, v->packed_bytes(p, padded, values), &packed));
    QB__TRY(v->pack(plan, s->queue, s->on_device, 0, p->columns, p->views * p->columns, 0, p->views, 1, packed));
    QB__TRY(v->run(plan, s->queue, packed, 1, s->out, 0));
    QB__TRY(qb__memory_download(s->queue, s->out, 0, s->pixels, p->nx * p->ny * sizeof *s->pixels));
    QB__TRY(qb__queue_finish(s->queue));
out:
    v->destroy(plan);
    qb__memory_destroy(packed);
    return status;
}

/* Prints one line for each failure. */
static int all_slices(scan *s, const char *folder) {
    const qb__device_info *info = qb__device_info_of(s->device);
    size_t count;
    const qb__bp_parallel_device_variant *const *all = qb__bp_parallel_device_variants(&count);
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        const qb__variant *head = &all[i]->head;
        int values[QB__PARAMETERS_MAX] = {0};
        for (int p = 0; p < qb__parameter_count(head); p++) values[p] = head->parameters[p].values[0];
        if (!(head->apis & (unsigned)info->api) || head->unusable(info, &s->problem, values)) continue;
        qb_status status = slice(s, all[i], values);
        if (status) fprintf(stderr, "%s: %s\n", head->id, qb_detail());
        failed |= status || write_slice(folder, head->id, s->pixels, s->problem.nx * s->problem.ny);
    }
    return failed;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "slice_bp_parallel DEVICE ROWS ANGLES CENTER SIZE FOLDER\n");
        return 2;
    }
    size_t row_bytes, angle_bytes;
    scan s = {.rows = read_all(argv[2], &row_bytes)};
    double *angles = read_all(argv[3], &angle_bytes);
    const size_t size = (size_t)atoi(argv[5]), views = angles ? angle_bytes / sizeof *angles : 0;
    if (!s.rows || !views || !size) {
        fprintf(stderr, "cannot read %s or %s\n", argv[2], argv[3]);
        return 3;
    }
    qb_status status = qb__alloc(3 * views, sizeof *s.ax, &s.ax);
    if (!status) status = qb__alloc(size * size, sizeof *s.pixels, &s.pixels);
    if (!status) {
        s.ay = s.ax + views, s.h0 = s.ay + views;
        fill(&s, views, row_bytes / sizeof *s.rows / views, size, angles, atof(argv[4]));
        status = upload(&s, argv[1]);
    }
    if (status) fprintf(stderr, "%s: %s\n", argv[1], qb_detail());
    const int failed = status || all_slices(&s, argv[6]);
    qb__memory_destroy(s.on_device);
    qb__memory_destroy(s.out);
    qb__queue_destroy(s.queue);
    qb__device_close(s.device);
    qb__free(s.ax);
    qb__free(s.pixels);
    free(s.rows);
    free(angles);
    return failed;
}
