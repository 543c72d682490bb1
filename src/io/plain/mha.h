/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/array.h"

typedef struct qb__mha_type {
    const char *name;
    qb_dtype dtype;
} qb__mha_type;
enum { QB__MHA_TYPES = 8 };
extern const qb__mha_type qb__mha_types[QB__MHA_TYPES];
