/* SPDX-License-Identifier: MIT */
#include "geometry/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* Parse A:B at *at for n voxels; *at moves behind it. */
static bool read_range(const char **at, size_t n, size_t *first, size_t *end) {
    char *behind;
    if (**at < '0' || **at > '9') return false;
    *first = strtoull(*at, &behind, 10);
    if (*behind != ':' || behind[1] < '0' || behind[1] > '9') return false;
    *end = strtoull(behind + 1, &behind, 10);
    *at = behind;
    return *first < *end && *end <= n;
}

qb_status qb__grid_region_take(const char *text, int dimensions, qb_grid *grid, qb__grid_region *region) {
    const char *at = text;
    *region = (qb__grid_region){.asked = text != NULL, .whole = *grid};
    for (int i = 0; text && i < dimensions; i++) {
        size_t first, end;
        if ((i > 0 && *at++ != ',') || !read_range(&at, grid->n[i], &first, &end))
            return qb__fail(QB_BAD_ARGUMENT,
                            "--region %.60s: give %s, each within the volume's %zu x %zu x %zu voxels (x, y, z)", text,
                            dimensions == 3 ? "X0:X1,Y0:Y1,Z0:Z1" : "X0:X1,Y0:Y1", region->whole.n[0],
                            region->whole.n[1], region->whole.n[2]);
        const double middle = (double)first + 0.5 * (double)(end - first - 1);
        grid->offset[i] += (middle - 0.5 * ((double)grid->n[i] - 1)) * grid->voxel[i];
        grid->n[i] = end - first;
        region->first[i] = first;
    }
    if (text && *at)
        return qb__fail(QB_BAD_ARGUMENT, "--region %.60s: give %d ranges only%s", text, dimensions,
                        dimensions == 2 ? ", and --slices for z" : "");
    return QB_OK;
}
