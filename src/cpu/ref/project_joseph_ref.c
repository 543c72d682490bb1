/* SPDX-License-Identifier: MIT */
#include "cpu/project_joseph/project_joseph.h"

#include <math.h>

void qb__joseph_reference(const qb__fan *fan, size_t row, const size_t n[3],
                          void (*tap)(void *context, size_t voxel, double weight), void *context) {
    const int axis = qb__fan_axis(fan, (double)row);
    double from[3], along[3];
    for (int j = 0; j < 3; j++) {
        from[j] = fan->origin[j] + (double)row * fan->origin_step[j];
        along[j] = fan->along[j] + (double)row * fan->along_step[j];
    }
    for (size_t k = 0; k < n[axis]; k++) {
        const double t = ((double)k - from[axis]) / along[axis];
        double at[3];
        for (int j = 0; j < 3; j++) at[j] = j == axis ? (double)k : from[j] + t * along[j];
        for (int corner = 0; corner < 8; corner++) {
            size_t index = 0;
            double weight = 1;
            for (int j = 2; j >= 0; j--) {
                const int up = corner >> j & 1;
                const double voxel = (j == axis ? at[j] : floor(at[j])) + up;
                weight *= j == axis ? !up : 1 - fabs(at[j] - voxel);
                if (!(voxel >= 0 && voxel < (double)n[j])) weight = 0;
                if (weight > 0) index = index * n[j] + (size_t)voxel;
            }
            if (weight > 0) tap(context, index, weight);
        }
    }
}
