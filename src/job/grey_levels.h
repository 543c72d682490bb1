/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_GREY_LEVELS_H
#define QB_JOB_GREY_LEVELS_H

#include "base/json.h"
#include "quickbeam/io.h"

/* --window: which values are black and which white in a job's pictures. */
typedef struct qb__grey_levels {
    double low, high;
    bool asked; /* given by the user; otherwise chosen from the image */
} qb__grey_levels;

/* What the options ask for; QB_BAD_ARGUMENT for neither LO,HI nor auto. NULL = auto. */
qb_status qb__grey_levels_parse(const char *text, qb__grey_levels *window);
/* As asked, else all but the least and the greatest 0.5 % of the values that are numbers; low < high in any case. */
qb_status qb__grey_levels_choose(const char *text, const float *values, size_t count, qb__grey_levels *window);
/* {"window": [low, high], "window_from": "auto" or "--window"} */
void qb__grey_levels_report(const qb__grey_levels *window, cJSON *json);
/* "black 0.1, white 2 per mm", in the letters that pictures have (io/picture/label.h). */
void qb__grey_levels_text(const qb__grey_levels *window, const char *units, char *text, size_t size);
/* 0 black, 1 white; what is no number is black. */
float qb__grey_levels_shade(const qb__grey_levels *window, float value);

#endif
