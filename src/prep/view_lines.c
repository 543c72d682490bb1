/* SPDX-License-Identifier: MIT */
#include "prep/line_mass.h"

#include "base/memory.h"

qb_status qb__view_lines_create(qb_scan *scan, const size_t *row, size_t rows, qb__view_lines *lines) {
    enum { MOST_BYTES = 1 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb__source *source = scan->parts.data.source;
    const size_t block = source ? source->chunk[scan->sinogram ? 1 : 0] : 1;
    const size_t line = info->columns * qb_dtype_size(info->dtype);
    const size_t ahead = qb__larger(1, qb__smaller(qb__smaller(block, info->views), MOST_BYTES / (rows * line)));
    *lines = (qb__view_lines){.scan = scan, .row = row, .rows = rows, .line = line, .ahead = ahead};
    return qb__alloc(rows * ahead, line, &lines->raw);
}

qb_status qb__view_lines_read(qb__view_lines *l, size_t view, size_t r, const char **raw) {
    if (view < l->first || view >= l->end) {
        const size_t first = view - view % l->ahead;
        const size_t end = qb__smaller(first + l->ahead, qb_scan_describe(l->scan)->views);
        l->end = 0; /* after a failure nothing is valid */
        for (size_t i = 0; i < l->rows; i++) {
            char *to = l->raw + i * l->ahead * l->line;
            const qb_status status = qb_scan_read(l->scan, first, end, l->row[i], l->row[i] + 1, to);
            if (status != QB_OK) return status;
        }
        l->first = first, l->end = end;
    }
    *raw = l->raw + (r * l->ahead + view - l->first) * l->line;
    return QB_OK;
}

void qb__view_lines_destroy(qb__view_lines *lines) { qb__free(lines->raw); }
