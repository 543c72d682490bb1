/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_LIST_ORDER_H
#define QB_IO_LIST_ORDER_H

#include "io/plain/source.h"

/* Where in the first name a number begins or ends that decides the order; both 0: the names themselves tell. */
typedef struct qb__counter {
    size_t begin, end;
} qb__counter;

/* Files whose names differ in their numbers only, sorted by the number that counts them. QB_BAD_INPUT where names
 * differ otherwise, or where two numbers could count. `numbers` (files->count, or NULL) gets the number of each. */
qb_status qb__list_order(const char *path, const qb__counter *counter, qb__notes *files, long long *numbers);

#endif
