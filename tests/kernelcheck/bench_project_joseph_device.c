/* SPDX-License-Identifier: MIT */
/* Benchmarks projection and adjoint with everything on the device: N^2 pixels, N views, N^3 voxels; a circular cone
 * beam, and one with a tilted detector. Kernels that work slice by slice get one slice and one row. An update is one
 * voxel and one view, as for back-projection. */
#include "base/memory.h"
#include "base/status.h"
#include "bench/project_check.h"
#include "bench_device.h"
#include "case_project_joseph_device.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "planner/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    qb_geometry geometry;
    qb_grid grid;
    qb__joseph_problem problem;
    qb__queue *queue;
    qb__event *event[2];
    qb__joseph_plan *plan;
    qb__memory *slab, *rays, *plain;
    float *volume;
} bench;

static qb_status place(bench *b, size_t n, size_t slices, size_t views, bool tilted) {
    double *angles = malloc(views * sizeof *angles), size = (double)n;
    if (!angles) abort();
    for (size_t i = 0; i < views; i++) angles[i] = 6.283185307179586 * (double)i / (double)views;
    qb_status status = qb_geometry_cone(views, angles, slices, n, 1.5, 1.5, 2 * size, 3 * size, 0, 0, &b->geometry);
    free(angles);
    for (size_t i = 0; status == QB_OK && tilted && i < views; i++) {
        qb_view *v = &b->geometry.view[i];
        for (int j = 0; j < 3; j++) {
            const double u = v->u[j];
            v->u[j] += 0.03 * v->v[j], v->v[j] -= 0.03 * u;
        }
    }
    b->grid = (qb_grid){{n, n, slices}, {1, 1, 1}, {0, 0, 0}};
    b->problem = (qb__joseph_problem){
        .views = views, .rows = slices, .columns = n, .planes = n, .geometry = &b->geometry, .grid = &b->grid};
    return status;
}

static qb_status make(bench *b, qb__device *device, const int *values) {
    const size_t n = b->grid.n[0], slices = b->grid.n[2], voxels = n * n * slices;
    const size_t slab = qb__joseph_slab_bytes(&b->problem, slices),
                 rays = qb__joseph_block_bytes(&b->problem, b->problem.views);
    rng r = {n};
    qb_status status;
    b->volume = malloc(voxels * sizeof *b->volume);
    if (!b->volume) abort();
    for (size_t i = 0; i < voxels; i++) b->volume[i] = (float)rng_uniform(&r, -1, 1);
    QB__TRY(qb__queue_create(device, &b->queue));
    for (int i = 0; i < 2; i++) QB__TRY(qb__event_create(device, &b->event[i]));
    QB__TRY(qb__joseph_plan_create(device, &b->problem, (qb__joseph_most){slices, b->problem.views}, values, &b->plan));
    QB__TRY(qb__memory_create(device, slab, &b->slab));
    QB__TRY(qb__memory_create(device, rays, &b->rays));
    QB__TRY(qb__memory_create(device, qb__larger(voxels, b->problem.views * n * slices) * sizeof(float), &b->plain));
    QB__TRY(qb__memory_fill(b->queue, b->slab, 0, 0, slab));
    QB__TRY(qb__memory_fill(b->queue, b->rays, 0, 0, rays));
    QB__TRY(qb__memory_upload(b->queue, b->plain, 0, b->volume, voxels * sizeof(float)));
    QB__TRY(qb__joseph_to_lines(b->plan, b->queue, b->plain, 0, slices, 0, slices, b->slab));
out:
    return status;
}

static qb_status once(bench *b, bool back) {
    const size_t slices = b->grid.n[2], views = b->problem.views;
    return back ? qb__joseph_adjoint(b->plan, b->queue, b->rays, 0, views, b->slab, 0, slices, false)
                : qb__joseph_forward(b->plan, b->queue, b->slab, 0, slices, 0, views, b->rays);
}

static int by_size(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static qb_status median(bench *b, bool back, int tries, double *seconds) {
    double took[9];
    qb_status status;
    for (int i = -1; i < tries; i++) {
        QB__TRY(qb__event_record(b->event[0], b->queue));
        QB__TRY(once(b, back));
        QB__TRY(qb__event_record(b->event[1], b->queue));
        QB__TRY(qb__queue_finish(b->queue));
        if (i >= 0) QB__TRY(qb__event_seconds(b->event[0], b->event[1], &took[i]));
    }
    qsort(took, (size_t)tries, sizeof *took, by_size);
    *seconds = took[tries / 2];
out:
    return status;
}

/* Error of some rays; for the adjoint, <A x, A x> is compared to <x, A'A x>. */
static qb_status rel_l2(bench *b, bool back, double *error) {
    const size_t n = b->grid.n[0], slices = b->grid.n[2], voxels = n * n * slices,
                 pixels = b->problem.views * n * slices;
    float *lines = malloc(qb__larger(pixels, voxels) * sizeof *lines);
    qb_status status;
    if (!lines) abort();
    QB__TRY(qb__joseph_images(b->plan, b->queue, b->rays, b->problem.views, b->plain, 0));
    QB__TRY(qb__memory_download(b->queue, b->plain, 0, lines, pixels * sizeof *lines));
    QB__TRY(qb__queue_finish(b->queue));
    *error = qb__project_error(&b->geometry, &b->grid, b->volume, lines);
    if (!back) goto out;
    const double square = qb__project_dot(lines, lines, pixels);
    QB__TRY(once(b, true));
    QB__TRY(qb__joseph_from_lines(b->plan, b->queue, b->slab, 0, slices, 1, b->plain, 0));
    QB__TRY(qb__memory_download(b->queue, b->plain, 0, lines, voxels * sizeof *lines));
    QB__TRY(qb__queue_finish(b->queue));
    *error = fabs(qb__project_dot(lines, b->volume, voxels) - square) / square;
out:
    free(lines);
    return status;
}

static void bench_free(bench *b) {
    if (b->queue) qb__queue_finish(b->queue);
    qb__joseph_plan_destroy(b->plan);
    qb__memory_destroy(b->slab);
    qb__memory_destroy(b->rays);
    qb__memory_destroy(b->plain);
    for (int i = 0; i < 2; i++) qb__event_destroy(b->event[i]);
    qb__queue_destroy(b->queue);
    qb_geometry_destroy(&b->geometry);
    free(b->volume);
}

bool project_joseph_device_bench(const qb__variant *variant, qb__device *device, size_t number, const options *o,
                                 measurement *m) {
    static const char *const names[4] = {"forward, circular", "adjoint, circular", "forward, tilted",
                                         "adjoint, tilted"};
    const qb__device_info *info = qb__device_info_of(device);
    const bool flat = strstr(variant->id, ".flat");
    if (number >= (o->quick || flat ? 2u : 4u)) return false;
    const size_t n = o->size ? o->size : info->is_cpu ? 64 : flat ? 1024 : 512, slices = flat ? 1 : n;
    const bool back = number % 2;
    const double updates = (double)(n * n) * (double)(n * slices);
    bench b = {0};
    qb__choice choice;
    double seconds, error;
    qb_status status;
    QB__TRY(place(&b, n, slices, n, number > 1));
    const char *why = qb__estimate(
        variant, &(qb__question){.operation = QB__PROJECT_JOSEPH, .device = info, .problem = &b.problem, .slices = 1},
        &choice);
    if (why) {
        status = qb__fail(QB_UNSUPPORTED, "%s", why);
        goto out;
    }
    qb__joseph_lay_out(&b.problem, choice.values);
    QB__TRY(make(&b, device, choice.values));
    QB__TRY(once(&b, false));
    QB__TRY(rel_l2(&b, back, &error));
    QB__TRY(median(&b, back, o->quick ? 3 : 5, &seconds));
    *m = (measurement){.parameters = parameters_text(variant, choice.values),
                       .giga_updates_per_second = updates / seconds * 1e-9,
                       .rel_l2 = error,
                       .ceiling = updates / choice.predicted * 1e-9,
                       .scalar = NAN,
                       .pack_gigabytes_per_second = NAN};
    snprintf(m->problem.s, sizeof m->problem.s, "%s, %zux%zu pixels, %zu views, %zux%zux%zu voxels", names[number], n,
             slices, n, n, n, slices);
out:
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", variant->id, qb_detail());
    bench_free(&b);
    return status == QB_OK;
}
