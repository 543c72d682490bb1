/* SPDX-License-Identifier: MIT */
/* Raw data in many files with the same number of images each (usually one view per file): name_*.raw, name_%05d.raw or
 * a folder, with --shape of the whole. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/plain/source.h"

typedef struct raw_series {
    qb__source base;
    qb__notes files;
    size_t each; /* images per file */
    uint64_t offset;
    bool swap;
} raw_series;

typedef struct sweep {
    const raw_series *series;
    const qb__region *region;
    char *out;
} sweep;

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const raw_series *series = s->series;
    const size_t row = qb__source_row_bytes(&series->base), size = qb_dtype_size(series->base.dtype);
    const size_t image = s->region->first + number * s->region->step;
    const size_t bytes = (s->region->row1 - s->region->row0) * row;
    const uint64_t at = series->offset + image % series->each * series->base.shape[1] * row + s->region->row0 * row;
    return qb__pread_values(series->files.text[image / series->each], at, bytes, size, series->swap,
                            s->out + number * bytes);
}

static qb_status read_series(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const raw_series *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_series(qb__source *source) { qb__notes_release(&((raw_series *)source)->files); }

/* Check that all files have one size, which is large enough for their images. */
static qb_status check_sizes(const raw_series *series, const qb__plain *layout, const char *path) {
    const qb__source *base = &series->base;
    const qb__notes *files = &series->files;
    const uint64_t need = series->offset + (uint64_t)series->each * base->shape[1] * qb__source_row_bytes(base);
    uint64_t first = 0, bytes;
    for (size_t i = 0; i < files->count; i++) {
        QB__OR_RETURN(qb__file_size(files->text[i], &bytes));
        if (i == 0) first = bytes;
        if (bytes != first)
            return qb__fail(QB_BAD_INPUT,
                            "%s has %llu bytes, %s has %llu: all files of a series must have the same size",
                            files->text[i], (unsigned long long)bytes, files->text[0], (unsigned long long)first);
        if (bytes > need && layout->longer)
            return qb__fail(QB_BAD_INPUT, "%s has %llu bytes, %llu more than %zu x %zu x %zu %s take: %s",
                            files->text[i], (unsigned long long)bytes, (unsigned long long)(bytes - need), series->each,
                            base->shape[1], base->shape[2], qb_dtype_name(base->dtype), layout->longer);
        if (bytes < need)
            return qb__fail(QB_BAD_INPUT,
                            "%s has %llu bytes; %zu x %zu x %zu %s from byte %llu on need %llu: is --shape that of %s?",
                            files->text[i], (unsigned long long)bytes, series->each, base->shape[1], base->shape[2],
                            qb_dtype_name(base->dtype), (unsigned long long)series->offset, (unsigned long long)need,
                            path);
    }
    return QB_OK;
}

static qb_status lay_out(raw_series *series, const qb__plain *layout, const char *path) {
    const size_t *n = layout->shape, files = series->files.count;
    size_t count;
    if (!n[0] || !n[1] || !n[2] || !qb__mul(n[0], n[1], n[2], &count) ||
        !qb__mul(count, qb_dtype_size(layout->dtype), 1, &count))
        return qb__fail(QB_BAD_INPUT, "%s: its shape %zu x %zu x %zu is empty, or too large", path, n[0], n[1], n[2]);
    if (n[0] % files)
        return qb__fail(QB_BAD_INPUT,
                        "%s: --shape states %zu images, and %zu files cannot hold equally many of them: it counts the "
                        "images of all files (%zu for one image in each)",
                        path, n[0], files, files);
    series->each = n[0] / files;
    series->offset = layout->offset;
    series->swap = layout->swap;
    series->base.dtype = layout->dtype;
    memcpy(series->base.shape, n, sizeof layout->shape);
    return check_sizes(series, layout, path);
}

/* `files` NULL: those that the path stands for. */
static qb_status open_series(const char *path, qb__notes *files, const qb__plain *layout, qb__source **out) {
    raw_series *series;
    *out = NULL;
    qb_status status = qb__source_create(sizeof *series, files ? layout->format : "raw series", path, &series);
    if (status != QB_OK) return status;
    series->base.read = read_series;
    series->base.release = release_series;
    if (files) series->files = *files, *files = (qb__notes){0};
    if (!files) QB__TRY(qb__source_files(&series->base, " .raw .bin .dat .img ", &series->files));
    QB__TRY(lay_out(series, layout, path));
    *out = &series->base;
    return QB_OK;
out:
    qb__source_close(&series->base);
    return status;
}

qb_status qb__raw_series_open(const char *path, const qb__plain *layout, qb__source **out) {
    return open_series(path, NULL, layout, out);
}

qb_status qb__raw_files_open(const char *path, qb__notes *files, const qb__plain *layout, qb__source **out) {
    const qb_status status =
        files->count ? open_series(path, files, layout, out) : qb__fail(QB_BAD_INPUT, "%s names no data files", path);
    qb__notes_release(files);
    return status;
}
