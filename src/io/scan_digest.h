/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SCAN_DIGEST_H
#define QB_IO_SCAN_DIGEST_H

#include <stdatomic.h>

#include "base/json.h"
#include "quickbeam/scan.h"

/* What tells the numbers of a scan from other numbers, gathered while they are read, in whatever order and
 * however often: the sum over views and rows, row0 <= row < row1, of the hash of a row's numbers as they are
 * in memory, seeded with view * rows + row. */
typedef struct qb__scan_digest {
    size_t views, rows, row0, row1, bytes; /* of the scan; bytes of a row */
    _Atomic uint64_t *seen; /* a bit for each view and row; NULL: nothing is gathered */
    _Atomic uint64_t sum;
    _Atomic size_t left; /* rows of views that were not read yet */
} qb__scan_digest;

/* From now on rows row0 <= row < row1 count, as if nothing had been read. Without xxhash: nothing does. */
qb_status qb__scan_digest_begin(qb__scan_digest *digest, const qb_scan_info *info, size_t row0, size_t row1);
void qb__scan_digest_release(qb__scan_digest *digest);
size_t qb__scan_digest_bytes(const qb_scan_info *info);
/* What was just read, as qb_scan_read's, on at most so many threads. Any number of callers at once. */
void qb__scan_digest_add(qb__scan_digest *digest, size_t view0, size_t view1, size_t row0,
                         size_t row1, const void *data, size_t threads);
/* {projections: {first_row, last_row, xxh3}, flats, darks, angles} of what was used, as a scan holds it: flat and
 * dark [row][column] or NULL, angles [views]; projections only when all of it was read. */
cJSON *qb__scan_digest_tell(const qb__scan_digest *digest, const qb_scan_info *info, const float *flat,
                            const float *dark, const double *angles);

#endif
