/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FIELDS_JUDGE_H
#define QB_IO_FIELDS_JUDGE_H

#include "io/scan/frame_look.h"

/* Flats or darks, and which of them cannot be what they are called. */
typedef struct qb__field_series {
    const qb__frame *frames; /* [count] */
    size_t count;
    bool *bad; /* [count]; those that are bad already are not looked at */
} qb__field_series;

/* Marks frames that lie far from their series: a dark with beam, a flat without, one that is much too dim, too bright or not
 * of numbers. One good frame at least stays in each series. Either may be empty. */
void qb__fields_judge(qb__field_series *flats, qb__field_series *darks);
/* All flats are darker than all darks; their middle levels. */
bool qb__fields_exchanged(const qb__field_series *flats, const qb__field_series *darks, double *flat, double *dark);

#endif
