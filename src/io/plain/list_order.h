/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"

/* Start and end, in the first name, of the number that decides the order; both 0: the names themselves decide. */
typedef struct qb__counter {
    size_t begin, end;
} qb__counter;

/* Sort files whose names differ only in their numbers by the number that counts them. QB_BAD_INPUT if names differ
 * otherwise, or if two numbers could count. `numbers` (files->count, or NULL) gets the number of each. */
qb_status qb__list_order(const char *path, const qb__counter *counter, qb__notes *files, long long *numbers);
