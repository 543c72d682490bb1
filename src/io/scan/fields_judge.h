/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/frame_look.h"

/* Flats or darks, and marks of those that cannot be what they are stated to be. */
typedef struct qb__field_series {
    const qb__frame *frames; /* [count] */
    size_t count;
    bool *bad; /* [count]; frames that are marked already are not judged */
} qb__field_series;

/* Marks frames that lie far from their series: a dark with beam, a flat without beam, one that is much too dim or too
 * bright, or without numbers. At least one good frame stays in each series. Either series may be empty. */
void qb__fields_judge(qb__field_series *flats, qb__field_series *darks);
/* True if all flats are darker than all darks; with their middle levels. */
bool qb__fields_exchanged(const qb__field_series *flats, const qb__field_series *darks, double *flat, double *dark);
