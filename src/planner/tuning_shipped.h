/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "planner/tuning_file.h"

/* Built-in parameters and speeds, measured on our machines. */
typedef struct qb__tuning_shipped {
    qb__tuning_key key; /* slices and columns are shape classes */
    qb__tuning_entry entry;
} qb__tuning_shipped;

extern const qb__tuning_shipped qb__tuning_shipped_rows[];
extern const size_t qb__tuning_shipped_count;

/* Parameters of the paper's cards (Tables 13, 20, 23, 24). `slices` are those of one fetch; speed 0: unknown. */
extern const qb__tuning_shipped qb__tuning_paper_rows[];
extern const size_t qb__tuning_paper_count;
/* `few`: only measurements with as many slices; else the fastest. */
bool qb__tuning_paper_find(const qb__tuning_key *key, bool few, qb__tuning_entry *entry);
