/* SPDX-License-Identifier: MIT */
#include "io/scan/open_parts.h"

#include "base/status.h"
#include "io/formats.h"
#include "io/scan/transposed.h"

static qb_status open_stored(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb__format *format;
    qb_status status;
    if (options->shape)
        return qb__raw_open_as(path, options->shape, options->as == QB_IMAGE_SINOGRAM, &parts->data.source);
    status = qb__format_to_read(path, &format);
    if (status != QB_OK) return status;
    if (format->scan) return format->scan(path, options, parts);
    return format->open(path, options->dataset, &parts->data.source);
}

/* Transpose the images only. Flats and darks of the same file are stored as frames already. */
static qb_status transpose(const char *order, qb__scan_parts *parts) {
    if (parts->data.index)
        return qb__fail(QB_UNSUPPORTED, "%s: --transpose of frames that are projections, flats and darks in one stack",
                        parts->data.source->path);
    const qb_status status = qb__source_transpose(&parts->data.source, order);
    if (status == QB_OK) parts->data.count = parts->data.source->shape[0];
    return status;
}

qb_status qb__scan_open_parts(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb_status status = open_stored(path, options, parts);
    return status == QB_OK && options->transpose && *options->transpose ? transpose(options->transpose, parts) : status;
}
