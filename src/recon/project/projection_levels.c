/* SPDX-License-Identifier: MIT */
/* Recognises Hounsfield units: air is -1000, which no attenuation is. */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"
#include "recon/project/projection.h"

/* Share of values far below 0 in a few rows of the middle slice. */
static qb_status look(const qb__projection *p, void *raw, float *row, double *share) {
    enum { ROWS = 16 };
    const qb__source *source = p->source;
    const size_t *n = p->grid.n, rows = n[1] < ROWS ? n[1] : ROWS, z = n[2] / 2;
    size_t low = 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t y = (2 * i + 1) * n[1] / (2 * rows);
        const qb__region region = {z, 1, 1, y, y + 1};
        QB__OR_RETURN(source->read((qb__source *)source, &region, raw));
        qb_convert_to_float(raw, source->dtype, n[0], row);
        for (size_t x = 0; x < n[0]; x++) low += row[x] < -100 && row[x] > -1e5f;
    }
    *share = (double)low / (double)(rows * n[0]);
    return QB_OK;
}

qb_status qb__projection_look(const qb__projection *p, const qb_env *env) {
    const size_t columns = p->grid.n[0];
    const bool scaled = !qb_dtype_is_float(p->source->dtype) && p->source->scale[1] > p->source->scale[0];
    void *raw = NULL;
    float *row = NULL;
    double share = 0;
    qb_status status;
    if (p->options->hu > 0 || scaled) return QB_OK;
    QB__TRY(qb__alloc(columns, qb_dtype_size(p->source->dtype), &raw));
    QB__TRY(qb__alloc(columns, sizeof *row, &row));
    QB__TRY(look(p, raw, row, &share));
    if (share < 0.02) goto out;
    if (!*p->source->quantity)
        status = qb__fail(QB_BAD_INPUT,
                          "%s: %.0f %% of its values are below -100, as of Hounsfield units: give --hu MU_WATER",
                          p->volume, 100 * share);
    else
        qb__warn(env,
                 "%.0f %% of the volume's values are below -100, as of Hounsfield units: give --hu MU_WATER" QB__CODE(
                     "volume-hounsfield"),
                 100 * share);
out:
    QB__FREE(raw, row);
    return status;
}
