/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SCAN_H
#define QB_IO_SCAN_H

#include "base/inputs.h"
#include "io/digest.h"
#include "io/source.h"

struct qb_scan {
    qb_scan_info info;
    qb__scan_parts parts;
    char *path;
    bool sinogram;      /* an image of the source is a detector row over all views */
    size_t first, step; /* of the views in the source that the scan has */
    size_t stored;      /* views in the source */
    double *angles;     /* [views] */
    float *flat, *dark; /* [row][column] means, or NULL */
    char quantity_from[200];
    char no_angles[360]; /* why there are none that could be used; "" */
    qb__digest *digests; /* of the jobs that read it */
    qb__inputs inputs; /* every file of it: data, fields, angles, notes beside them */
};

/* No more threads than that read it, where it is stored. */
void qb__scan_limit(qb_scan *scan, size_t threads);
/* Bytes a second of a scan that is computed when it is read, tried out the first time that somebody asks; 0: it is stored. */
double qb__scan_computed(const qb_scan *scan);
/* All that follows from parts that are open: shapes, angles, quantity, pixel, fields, problems. */
qb_status qb__scan_complete(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* The array that the numbers are in, where that is in a device's memory; else NULL. */
struct qb__tensor_device *qb__scan_on_device(qb_scan *scan);
/* Of that: the element of column 0, and how many elements views, rows and columns are apart. */
ptrdiff_t qb__scan_place(const qb_scan *scan, size_t view, size_t row, ptrdiff_t stride[3]);
/* QB_BAD_INPUT with the reason why a scan has no angles. */
qb_status qb__scan_lacks_angles(const qb_scan_info *info);
/* Flats and darks of the options, else of the parts, as means. */
qb_status qb__scan_fields_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Notes on angles: missing, uneven, repeated ends. */
void qb__scan_judge_angles(qb_scan *scan);
/* What there is to say of a file of angles beside its numbers; "" where there is nothing. */
typedef struct qb__angles_said {
    char how[80];    /* "below its header \"angle\"" */
    char doubt[256]; /* a warning, with its code */
} qb__angles_said;
/* qb_angles_parse; `said` may be NULL. */
qb_status qb__angles_read(const char *text, size_t views, double *radians, qb__angles_said *said);
/* --angles FROM:TO[:N] of many views within a little over 2 pi, without a unit: degrees are meant, or radians were given. */
bool qb__angles_doubtful(const char *text, size_t views);

#endif
