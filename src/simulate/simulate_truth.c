/* SPDX-License-Identifier: MIT */

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/writer.h"
#include "simulate/simulate.h"

enum { SAMPLES = 3 };

typedef struct slices {
    const qb__simulation *simulation;
    size_t first, image;
    float *out;
} slices;

static void fill_slice(void *context, size_t task, int worker) {
    const slices *slab = context;
    (void)worker;
    qb__phantom_slice(&slab->simulation->phantom, &slab->simulation->grid, slab->first + task, SAMPLES,
                      slab->out + task * slab->image);
}

static qb_status open_truth(const qb__simulation *s, qb_writer **writer) {
    const qb_grid *grid = &s->grid;
    qb_stack stack = {
        .dtype = QB_F32,
        .shape = {grid->n[2], grid->n[1], grid->n[0]},
        .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]},
        .offset = {grid->offset[0], grid->offset[1], grid->offset[2]},
        .units = "1/mm",
        .quantity = "attenuation",
        .description = "quickbeam phantom",
    };
    return qb__writer_create(s->set, NULL, s->options->truth, &stack, writer);
}

qb_status qb__simulate_truth(const qb__simulation *s, const qb_env *env) {
    const size_t *n = s->grid.n;
    qb_writer *writer = NULL;
    slices slab = {.simulation = s, .image = n[0] * n[1]};
    const size_t depth = s->truth.slices;
    qb_status status;
    QB__TRY(qb__alloc(depth, slab.image * sizeof(float), &slab.out));
    QB__TRY(open_truth(s, &writer));
    for (size_t z = 0; z < n[2]; z += depth) {
        size_t end = z + depth < n[2] ? z + depth : n[2];
        slab.first = z;
        QB__TRY(qb__check_cancel(env));
        qb__pool_for(s->pool, end - z, fill_slice, &slab);
        QB__TRY(qb_writer_write(writer, z, end, slab.out));
        qb__progress(env, "truth", end, n[2]);
    }
    status = qb__simulate_finish(s, &writer);
out:
    qb_writer_abort(writer);
    qb__free(slab.out);
    return status;
}
