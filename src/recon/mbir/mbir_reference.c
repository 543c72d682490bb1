/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir.h"

#include <math.h>

bool qb__mbir_has_reference(const qb__mbir *m) { return m->images.image[QB__MBIR_REFERENCE].path != NULL; }

qb_status qb__mbir_reference_rmse(const qb__mbir *m, const qb__icd_stack *stack, size_t first, size_t slices,
                                  float *room, double *rmse) {
    const size_t voxels = m->grid.n[0] * m->grid.n[1];
    struct {
        double squares, count;
    } sum = {0, (double)slices * (double)voxels};
    qb_status status = QB_OK;
    for (size_t s = 0; s < slices && status == QB_OK; s++) {
        const float *want = qb__mbir_image_at(m, &m->images.image[QB__MBIR_REFERENCE], first + s);
        status = qb__icd_stack_image(stack, s, 1, room);
        for (size_t i = 0; i < voxels && status == QB_OK; i++) {
            const double d = (double)room[i] - (double)want[i];
            sum.squares += d * d;
        }
    }
    status = qb__icd_halo_sum(m->settings.halo, status, &sum.squares, 2);
    const double scale = m->options->hu > 0 ? 1000 / m->options->hu : 1;
    *rmse = status == QB_OK ? scale * sqrt(sum.squares / sum.count) : NAN;
    return status;
}
