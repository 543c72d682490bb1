/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Parameters of sv-mbirct: text, `Name: value` per line, in any order. `path` is used in messages. */
enum { QB__MBIRCT_TEXT = 1 << 16, QB__MBIRCT_NAME = 4096 };

/* True if the line begins with the name, ignoring case. */
bool qb__mbirct_is(const char *line, const char *name);
/* The text after `Name:` at the beginning of a line; NULL if there is none. */
const char *qb__mbirct_find(const char *text, const char *name);
/* The number after `Name:`. QB_BAD_INPUT if it is missing or not within low..high. */
qb_status qb__mbirct_number(const char *path, const char *text, const char *name, double low, double high,
                            double *value);
qb_status qb__mbirct_count(const char *path, const char *text, const char *name, size_t *value);
/* The angles of ViewAngleList in our convention: radians[views]; from: the list's name. */
qb_status qb__mbirct_angles(const char *path, const char *text, size_t views, double *radians, char *from, size_t size);

/* Position of the source, lengths in mm. */
typedef enum qb__mbirct_kind { QB__MBIRCT_PARALLEL, QB__MBIRCT_CURVED, QB__MBIRCT_FLAT } qb__mbirct_kind;
typedef struct qb__mbirct_beam {
    qb__mbirct_kind kind;
    double offset;   /* CenterOffset, channels */
    double sod, sdd; /* distances of a fan beam */
} qb__mbirct_beam;
qb_status qb__mbirct_beam_of(const char *path, const char *text, qb__mbirct_beam *beam);

/* True for the name of images, BASE_slice%04d.2Dimgdata. */
bool qb__mbirct_is_images(const char *path);
/* True for the name of a scan's parameters. */
bool qb__mbirct_is_scan(const char *path);
/* The fan beams of such a file, one per detector row; QB_BAD_INPUT for a parallel beam. After a failure *geometry is
 * empty or can be released with qb_geometry_destroy. */
qb_status qb__geometry_from_mbirct(const char *path, const char *text, qb_geometry *geometry);
