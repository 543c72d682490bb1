/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/inputs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/scan.h"
#include "quickbeam/io.h"

/* One kind of field: flats or darks. */
typedef struct kind {
    const char *option, *path;
    bool dark;
    const char *shape; /* the scan's --shape; NULL = none */
} kind;

/* Raw data beside raw data: rows, columns and type as the scan's, as many images as there are. */
static qb_status open_raw(const kind *k, qb__frames *frames) {
    return qb__raw_open_like(k->path, k->shape, &frames->source);
}

/* From another scan file its own fields are meant, from anything else all images. */
static qb_status open_given(const kind *k, qb__frames *frames) {
    const qb__format *format;
    qb__scan_parts parts = {0};
    qb_status status = qb__format_to_read(k->path, &format);
    if (status != QB_OK) return qb__fail_in(status, "--%s", k->option);
    if (k->shape && format->open == qb__raw_open) {
        status = open_raw(k, frames);
    } else if (!format->scan) {
        status = format->open(k->path, NULL, &frames->source);
    } else {
        /* The other kind is not asked for. */
        qb_scan_options options = {.flats = k->dark ? (char *)k->path : NULL, .darks = k->dark ? NULL : (char *)k->path};
        status = format->scan(k->path, &options, &parts);
        if (status == QB_OK && *parts.unusable) status = qb__fail(QB_BAD_INPUT, "%s", parts.unusable);
        qb__frames *own = k->dark ? &parts.darks : &parts.flats;
        qb__frames *from = own->source ? own : &parts.data;
        *frames = *from;
        *from = (qb__frames){0};
        qb__scan_parts_release(&parts);
    }
    if (status != QB_OK) return qb__fail_in(status, "--%s", k->option);
    if (!frames->index) frames->count = frames->source->shape[0];
    return QB_OK;
}

/* sum += frame, in double so that many frames of large counts stay exact. */
typedef struct adding {
    const void *raw;
    qb_dtype dtype;
    size_t n;
    double *sum;
} adding;

enum { PIECE = 1 << 16 }; /* values: a thread's turn */

static qb_status add_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    enum { RUN = 4096 }; /* values that stay in a core's own memory from converting to adding */
    const adding *a = context;
    const size_t end = qb__smaller(a->n, (piece + 1) * PIECE);
    float values[RUN];
    for (size_t at = piece * PIECE; at < end; at += RUN) {
        const size_t n = qb__smaller(RUN, end - at);
        qb_convert_to_float((const char *)a->raw + at * qb_dtype_size(a->dtype), a->dtype, n, values);
        for (size_t i = 0; i < n; i++) a->sum[at + i] += values[i];
    }
    return QB_OK;
}

static qb_status mean_of(const qb__frames *frames, size_t n, const qb_env *env, float *mean) {
    const qb__source *source = frames->source;
    void *raw = NULL;
    double *sum = NULL;
    qb_status status;
    QB__TRY(qb__alloc(n, qb_dtype_size(source->dtype), &raw));
    QB__TRY(qb__alloc(n, sizeof *sum, &sum));
    adding a = {raw, source->dtype, n, sum};
    for (size_t f = 0; f < frames->count; f++) {
        const qb__region region = {f, 1, 1, 0, source->shape[1]};
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb__frames_read(frames, &region, raw));
        QB__TRY(qb__share(source->threads, qb__ceil_div(n, PIECE), add_piece, &a));
    }
    for (size_t i = 0; i < n; i++) mean[i] = (float)(sum[i] / (double)frames->count);
out:
    qb__free(raw);
    qb__free(sum);
    return status;
}

/* Each line of an image is a flat of its own when the detector has a single row. */
static qb_status mean_of_lines(const qb__frames *frames, const qb_env *env, size_t columns,
                               float *mean, size_t *count) {
    size_t lines = frames->source->shape[1];
    float *image;
    qb_status status = qb__alloc(lines * columns, sizeof *image, &image);
    if (status == QB_OK) status = mean_of(frames, lines * columns, env, image);
    for (size_t c = 0; c < columns && status == QB_OK; c++) {
        double sum = 0.0;
        for (size_t l = 0; l < lines; l++) sum += image[l * columns + c];
        mean[c] = (float)(sum / (double)lines);
    }
    *count = lines * frames->count;
    qb__free(image);
    return status;
}

/* Beyond which a file of such images is mainly something else, as a scan is that was named for its flats. */
static uint64_t most_bytes(const qb__frames *frames) {
    return 2 * frames->count * frames->source->shape[1] * qb__source_row_bytes(frames->source) + (1 << 20);
}

static qb_status load(qb_scan *scan, const kind *k, const qb_env *env, float **mean,
                      size_t *count) {
    const qb_scan_info *info = &scan->info;
    qb__frames given = {0}, *frames = k->dark ? &scan->parts.darks : &scan->parts.flats;
    qb__inputs files = {0}; /* their own */
    qb_status status = QB_OK;
    if (k->path) {
        qb__inputs_begin(&files);
        status = open_given(k, &given);
        qb__inputs_end(&files);
        if (status != QB_OK) goto out;
        frames = &given;
        if (*given.source->files) qb__info(env, "--%s %s: %s", k->option, k->path, given.source->files);
    }
    *count = frames->source ? frames->count : 0;
    if (*count == 0) goto out;
    const size_t *n = frames->source->shape;
    bool lines = info->rows == 1 && n[1] > 1;
    if (n[2] != info->columns || (n[1] != info->rows && !lines)) {
        status = qb__fail(QB_BAD_INPUT, "%s: %s are %zu x %zu, views are %zu x %zu",
                          frames->source->path, k->option, n[1], n[2], info->rows, info->columns);
        goto out;
    }
    QB__TRY(qb__source_check_holes(frames->source, frames->index, 0, frames->count, 1));
    QB__TRY(qb__alloc(info->rows * info->columns, sizeof **mean, mean));
    status = lines ? mean_of_lines(frames, env, info->columns, *mean, count)
                   : mean_of(frames, info->rows * info->columns, env, *mean);
    if (status == QB_OK) status = qb__inputs_hash(&files, most_bytes(frames));
out:
    qb__inputs_release(&files);
    qb__frames_release(&given);
    return status;
}

qb_status qb__scan_fields_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env) {
    const kind flats = {"flats", options->flats, false, options->shape}, darks = {"darks", options->darks, true, options->shape};
    qb_status status = load(scan, &flats, env, &scan->flat, &scan->info.flats);
    if (status == QB_OK) status = load(scan, &darks, env, &scan->dark, &scan->info.darks);
    return status;
}

qb_status qb_scan_fields(qb_scan *scan, size_t row0, size_t row1, float *flat, float *dark) {
    QB__NEED(scan);
    QB__NEED(flat);
    QB__NEED(dark);
    const qb_scan_info *info = &scan->info;
    if (row0 > row1 || row1 > info->rows)
        return qb__fail(QB_BAD_ARGUMENT, "%s: rows %zu:%zu of %zu", info->path, row0, row1,
                        info->rows);
    size_t n = (row1 - row0) * info->columns, at = row0 * info->columns;
    if (!scan->flat) return qb__fail(QB_NOT_FOUND, "%s has no flat fields", info->path);
    memcpy(flat, scan->flat + at, n * sizeof *flat);
    if (scan->dark)
        memcpy(dark, scan->dark + at, n * sizeof *dark);
    else
        memset(dark, 0, n * sizeof *dark);
    return QB_OK;
}
