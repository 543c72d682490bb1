/* SPDX-License-Identifier: MIT */
#include "io/scan/open_parts.h"

#include "io/formats.h"

qb_status qb__scan_open_parts(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb__format *format;
    qb_status status;
    if (options->shape)
        return qb__raw_open_as(path, options->shape, options->as == QB_IMAGE_SINOGRAM, &parts->data.source);
    status = qb__format_to_read(path, &format);
    if (status != QB_OK) return status;
    if (format->scan) return format->scan(path, options, parts);
    return format->open(path, options->dataset, &parts->data.source);
}
