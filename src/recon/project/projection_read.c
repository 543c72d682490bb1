/* SPDX-License-Identifier: MIT */
/* The chunks of a projection, and the stage that reads slices as attenuations. */
#include <float.h>
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/project/projection.h"

enum { RAW_BYTES = 8 << 20 };

qb__projection_piece qb__projection_piece_of(const qb__projection *p, size_t chunk) {
    const qb__cut *cut = &p->cut;
    const size_t slab = chunk % cut->slabs, block = chunk / cut->slabs;
    return (qb__projection_piece){
        .z0 = slab * cut->thickness,
        .z1 = qb__smaller((slab + 1) * cut->thickness, p->grid.n[2]),
        .view0 = block * cut->views,
        .view1 = qb__smaller((block + 1) * cut->views, p->scan.views),
        .first = slab == 0,
        .last = slab + 1 == cut->slabs,
    };
}

static size_t slice_raw(const qb__projection *p) {
    return p->grid.n[0] * p->grid.n[1] * qb_dtype_size(p->source->dtype);
}

/* Bytes of the buffer for stored slices; float32 slices are read directly to their destination. */
size_t qb__projection_raw_bytes(const qb__projection *p, const qb__cut *cut) {
    if (p->source->dtype == QB_F32) return 0;
    return qb__smaller(RAW_BYTES / slice_raw(p) + 1, cut->slices) * slice_raw(p);
}

qb_status qb__projection_open(void *plan, const qb__cut *cut) {
    qb__projection *p = plan;
    qb__free(p->raw);
    p->raw = NULL;
    p->missing = 0;
    p->cut = *cut;
    return qb__alloc(qb__projection_raw_bytes(p, cut), 1, &p->raw);
}

void qb__projection_close(void *plan, bool named) {
    (void)named;
    qb__projection *p = plan;
    qb__free(p->raw);
    p->raw = NULL;
}

/* Convert stored numbers to attenuations: integers of quickbeam have a scale, and Hounsfield units are relative to
 * water. */
static void to_attenuation(const qb__projection *p, float *values, size_t count) {
    const double *scale = p->source->scale;
    const double hu = p->options->hu;
    double most = p->source->dtype == QB_U8 ? 255 : 65535, a = 1, b = 0;
    if (!qb_dtype_is_float(p->source->dtype) && scale[1] > scale[0]) a = (scale[1] - scale[0]) / most, b = scale[0];
    if (hu > 0) a *= hu / 1000, b = hu * (1 + b / 1000);
    if (a == 1 && b == 0) return;
    for (size_t i = 0; i < count; i++) values[i] = (float)(a * (double)values[i] + b);
}

bool qb__projection_plain(const qb__projection *p) { return p->source->dtype == QB_F32 && !(p->options->hu > 0); }

void qb__projection_delegate_reading(qb__projection *p, bool left) { p->left = left; }

static size_t count_missing(const float *values, size_t count) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) missing += !(fabsf(values[i]) <= FLT_MAX);
    return missing;
}

void qb__projection_tell_missing(const qb__projection *p, cJSON *report, const qb_env *env) {
    const double all = (double)p->grid.n[0] * (double)p->grid.n[1] * (double)p->grid.n[2];
    if (!p->missing) return;
    cJSON_AddNumberToObject(report, "voxels_not_finite", (double)p->missing);
    qb__warn(env,
             "%zu of %.0f voxels of %s are NaN or infinite, and so is every ray that meets one: replace them, as by "
             "numpy.nan_to_num" QB__CODE("volume-not-finite"),
             p->missing, all, p->volume);
}

/* A volume of one slab stays in the ring's only slot for all blocks of views. */
static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in;
    qb__projection *p = self;
    const qb__projection_piece piece = qb__projection_piece_of(p, chunk);
    const size_t slice = p->grid.n[0] * p->grid.n[1];
    const qb_dtype dtype = p->source->dtype;
    size_t step = piece.z1 - piece.z0;
    if (dtype != QB_F32) step = qb__projection_raw_bytes(p, &p->cut) / slice_raw(p);
    qb_status status = QB_OK;
    if (p->left || (p->cut.slabs == 1 && chunk > 0)) return QB_OK;
    for (size_t z = piece.z0; status == QB_OK && z < piece.z1; z += step) {
        const size_t end = qb__smaller(z + step, piece.z1), count = (end - z) * slice;
        float *to = (float *)out + (z - piece.z0) * slice;
        const qb__region region = {z, end - z, 1, 0, p->grid.n[1]};
        status = p->source->read(p->source, &region, dtype == QB_F32 ? (void *)to : p->raw);
        if (status != QB_OK) break;
        qb__digest_add(&p->digest, z, end, 0, p->grid.n[1], dtype == QB_F32 ? (void *)to : p->raw, p->source->threads);
        if (dtype != QB_F32) qb_convert_to_float(p->raw, dtype, count, to);
        to_attenuation(p, to, count);
        if (piece.view0 == 0) p->missing += count_missing(to, count);
    }
    return status;
}

int qb__projection_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__projection *p = plan;
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slabs > 1 ? cut->slots : 1,
                            .slot_bytes = cut->slices * p->grid.n[0] * p->grid.n[1] * sizeof(float),
                            .run = read_run};
    return 1;
}
