/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_GREYS_H
#define QB_JOB_GREYS_H

#include "base/json.h"
#include "quickbeam/io.h"

/* --window: which values are black and which white in a job's pictures. */
typedef struct qb__greys {
    double low, high;
    bool asked; /* by the user; else chosen by what is shown */
} qb__greys;

/* What the options ask for; QB_BAD_ARGUMENT for neither LO,HI nor auto. NULL = auto. */
qb_status qb__greys_parse(const char *text, qb__greys *window);
/* As asked, else all but the least and the greatest 0.5 % of the values that are numbers; low < high in any case. */
qb_status qb__greys_choose(const char *text, const float *values, size_t count, qb__greys *window);
/* {"window": [low, high], "window_from": "auto" or "--window"} */
void qb__greys_report(const qb__greys *window, cJSON *json);
/* "black 0.1, white 2 per mm", in the letters that pictures have (io/label.h). */
void qb__greys_say(const qb__greys *window, const char *units, char *text, size_t size);
/* 0 black, 1 white; what is no number is black. */
float qb__greys_grey(const qb__greys *window, float value);

#endif
