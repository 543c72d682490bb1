/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "base/status.h"

/* Position and directions of source, detector or stage; the axes are unit vectors. */
typedef struct qb__ctsimu_place {
    double center[3], axis[3][3]; /* u, v, w */
} qb__ctsimu_place;

/* number of the frame */
typedef struct qb__ctsimu_frame {
    size_t number, count;
} qb__ctsimu_frame;

/* What a number is: mm or radians, and how many of them one is that states no unit. */
typedef struct qb__ctsimu_kind {
    bool angle;
    double missing;
} qb__ctsimu_kind;
extern const qb__ctsimu_kind qb__ctsimu_length, qb__ctsimu_angle, qb__ctsimu_turn; /* mm; degrees; radians */

/* Reads {"value", "unit", "drifts"}, or a number. Result: the value at frame f; f NULL: without drifts. */
qb_status qb__ctsimu_number(const cJSON *parent, const char *key, const qb__ctsimu_frame *f,
                            const qb__ctsimu_kind *kind, double *out);
/* Places a part at a frame; the stage is rotated by `turn`. */
qb_status qb__ctsimu_part(const cJSON *json, const qb__ctsimu_frame *f, double turn, qb__ctsimu_place *place);
