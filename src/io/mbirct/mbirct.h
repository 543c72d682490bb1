/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_MBIRCT_H
#define QB_IO_MBIRCT_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Parameters of sv-mbirct: text, `Name: value` a line, in any order. `path` is the file's, for what is said of it. */
enum { QB__MBIRCT_TEXT = 1 << 16, QB__MBIRCT_NAME = 4096 };

/* Does the line begin with the name, in letters of any size? */
bool qb__mbirct_is(const char *line, const char *name);
/* Behind `Name:` at the beginning of a line; NULL where there is no such. */
const char *qb__mbirct_find(const char *text, const char *name);
/* The number behind `Name:`. QB_BAD_INPUT if it is missing or not within low..high. */
qb_status qb__mbirct_number(const char *path, const char *text, const char *name, double low, double high,
                            double *value);
qb_status qb__mbirct_count(const char *path, const char *text, const char *name, size_t *value);
/* ViewAngleList's, as ours: radians[views]; from: the list's name. */
qb_status qb__mbirct_angles(const char *path, const char *text, size_t views, double *radians, char *from, size_t size);

/* Where the source is, lengths in mm. */
typedef enum qb__mbirct_kind { QB__MBIRCT_PARALLEL, QB__MBIRCT_CURVED, QB__MBIRCT_FLAT } qb__mbirct_kind;
typedef struct qb__mbirct_beam {
    qb__mbirct_kind kind;
    double offset;   /* CenterOffset, channels */
    double sod, sdd; /* of fans */
} qb__mbirct_beam;
qb_status qb__mbirct_beam_of(const char *path, const char *text, qb__mbirct_beam *beam);

/* Is it the name of images, BASE_slice%04d.2Dimgdata? */
bool qb__mbirct_is_images(const char *path);
/* Is it the name of a scan's parameters? */
bool qb__mbirct_is_scan(const char *path);
/* The fans of such a file, a detector row each; QB_BAD_INPUT of a parallel beam. On failure *geometry holds nothing or
 * what qb_geometry_destroy releases. */
qb_status qb__geometry_from_mbirct(const char *path, const char *text, qb_geometry *geometry);

#endif
