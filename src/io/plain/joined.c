/* SPDX-License-Identifier: MIT */
/* Images of several files as one stack. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"
#include "quickbeam/io.h"

typedef struct joined {
    qb__source base;
    qb__frames *part; /* [parts] */
    size_t parts;
} joined;

/* Read a run of the region's images, from the done-th on, that lie in one part; it is one image if its type differs
 * from the stack's. */
static qb_status read_run(const joined *j, const qb__region *region, size_t *done, char *out, void *raw) {
    size_t k = 0, image = region->first + *done * region->step;
    while (image >= j->part[k].count) image -= j->part[k++].count;
    const qb__source *source = j->part[k].source;
    const size_t values = (region->row1 - region->row0) * j->base.shape[2],
                 bytes = values * qb_dtype_size(j->base.dtype);
    const bool same = source->dtype == j->base.dtype;
    const size_t n =
        same ? qb__smaller(region->count - *done, qb__ceil_div(j->part[k].count - image, region->step)) : 1;
    const qb__region run = {image, n, region->step, region->row0, region->row1};
    const qb_status status = qb__frames_read(&j->part[k], &run, same ? out + *done * bytes : raw);
    if (status == QB_OK && !same)
        qb_convert_to_float(raw, source->dtype, values, (float *)(void *)(out + *done * bytes));
    *done += n;
    return status;
}

static qb_status read_joined(qb__source *source, const qb__region *region, void *out) {
    const joined *j = (const joined *)source;
    void *raw;
    qb_status status = qb__alloc((region->row1 - region->row0) * source->shape[2], sizeof(double), &raw);
    for (size_t done = 0; done < region->count && status == QB_OK;) status = read_run(j, region, &done, out, raw);
    qb__free(raw);
    return status;
}

static void release_joined(qb__source *source) {
    joined *j = (joined *)source;
    for (size_t k = 0; k < j->parts; k++) qb__frames_release(&j->part[k]);
    qb__free(j->part);
}

/* Take the properties of the first part, as far as all parts share them. */
static void take_words(qb__source *to, const qb__source *from) {
    memcpy(to->shape, from->shape, sizeof to->shape);
    memcpy(to->voxel, from->voxel, sizeof to->voxel);
    memcpy(to->quantity, from->quantity, sizeof to->quantity);
    memcpy(to->units, from->units, sizeof to->units);
    memcpy(to->trouble, from->trouble, sizeof to->trouble);
    memcpy(&to->chunk[1], &from->chunk[1], 2 * sizeof *to->chunk);
    to->beam = from->beam;
    to->dtype = from->dtype;
    to->shape[0] = 0;
}

/* Images without data in a part have no data in the whole. */
static qb_status add_holes(joined *j, const qb__frames *part, size_t at, size_t images) {
    if (!part->source->holes) return QB_OK;
    qb_status status = j->base.holes ? QB_OK : qb__alloc(images, 1, &j->base.holes);
    for (size_t i = 0; i < part->count && status == QB_OK; i++)
        j->base.holes[at + i] = part->source->holes[part->index ? part->index[i] : i];
    return status;
}

/* Check that all parts have one size. If types differ, values become floats. */
static qb_status agree(joined *j) {
    const qb__source *first = j->part[0].source;
    qb_status status = QB_OK;
    size_t images = 0;
    take_words(&j->base, first);
    for (size_t k = 0; k < j->parts; k++) images += j->part[k].count;
    for (size_t k = 0; k < j->parts && status == QB_OK; k++) {
        const qb__source *s = j->part[k].source;
        if (s->shape[1] != first->shape[1] || s->shape[2] != first->shape[2])
            return qb__fail(QB_BAD_INPUT, "%s is %zu x %zu, %s is %zu x %zu", s->path, s->shape[1], s->shape[2],
                            first->path, first->shape[1], first->shape[2]);
        if (s->dtype != first->dtype) j->base.dtype = QB_F32;
        status = add_holes(j, &j->part[k], j->base.shape[0], images);
        j->base.shape[0] += j->part[k].count;
        j->base.cache = qb__larger(j->base.cache, s->cache);
        j->base.cache_each = qb__larger(j->base.cache_each, s->cache_each);
    }
    return status;
}

qb_status qb__frames_join(qb__frames *parts, size_t count, qb__frames *out) {
    joined *j;
    if (count == 1) {
        *out = parts[0];
        parts[0] = (qb__frames){0};
        return QB_OK;
    }
    QB__OR_RETURN(qb__source_create(sizeof *j, "joined", parts[0].source->path, &j));
    j->base.read = read_joined;
    j->base.release = release_joined;
    qb_status status = qb__alloc(count, sizeof *j->part, &j->part);
    if (status == QB_OK) {
        memcpy(j->part, parts, count * sizeof *parts);
        memset(parts, 0, count * sizeof *parts);
        j->parts = count;
        status = agree(j);
    }
    if (status == QB_OK)
        *out = (qb__frames){&j->base, NULL, j->base.shape[0]};
    else
        qb__source_close(&j->base);
    return status;
}
