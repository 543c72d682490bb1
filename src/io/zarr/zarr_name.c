/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/zarr/zarr.h"

size_t qb__zarr_chunks(const qb__zarr_array *a) {
    size_t n = 1;
    for (int i = 0; i < 3; i++) n *= a->file[i] / a->chunk[i];
    return n;
}

size_t qb__zarr_bytes(const qb__zarr_array *a) {
    return a->chunk[0] * a->chunk[1] * a->chunk[2] * qb_dtype_size(a->dtype);
}

void qb__zarr_name(const qb__zarr_array *a, const char *folder, const size_t at[3], char *name, size_t room) {
    size_t used = (size_t)snprintf(name, room, "%s/%s", folder, a->prefixed ? "c" : "");
    for (int i = 0; i < a->axes && used < room; i++) {
        const int axis = i - (a->axes - 3); /* index among the last three axes; negative for axes before them */
        const char separator[2] = {i > 0 || a->prefixed ? a->separator : 0, 0};
        used += (size_t)snprintf(name + used, room - used, "%s%zu", separator, axis < 0 ? 0 : at[axis]);
    }
}

/* Chunks of up to 64 x 64 x 64 numbers; in version 3 up to 4 x 4 of them per file, so that large volumes are not
 * millions of files. Rows and columns are divided evenly, so that little is padded; along z two layers make one of the
 * next level. */
static void cut(qb__zarr_array *a) {
    enum { SIDE = 64, SHARD = 4 };
    for (int i = 0; i < 3; i++) {
        a->chunk[i] = qb__smaller(a->shape[i], SIDE);
        if (i > 0) a->chunk[i] = qb__ceil_div(a->shape[i], qb__ceil_div(a->shape[i], SIDE));
        const size_t chunks = i > 0 && a->sharded ? qb__smaller(qb__ceil_div(a->shape[i], a->chunk[i]), SHARD) : 1;
        a->file[i] = chunks * a->chunk[i];
    }
}

int qb__zarr_levels(const qb_stack *stack, int version, qb__codec_kind codec, qb__zarr_array level[QB__ZARR_LEVELS]) {
    enum { SMALL = 128 };
    int n = 0;
    for (size_t largest; n < QB__ZARR_LEVELS; n++) {
        qb__zarr_array *a = &level[n];
        *a = (qb__zarr_array){.version = version,
                              .axes = 3,
                              .dtype = stack->dtype,
                              .codec = codec,
                              .separator = '/',
                              .prefixed = version == 3,
                              .sharded = version == 3,
                              .index_checked = true};
        for (int i = 0; i < 3; i++) a->shape[i] = n ? qb__ceil_div(level[n - 1].shape[i], 2) : stack->shape[i];
        cut(a);
        largest = qb__larger(qb__larger(a->shape[0], a->shape[1]), a->shape[2]);
        if (largest <= SMALL || qb__stack_is_projections(stack)) return n + 1;
    }
    return n;
}
