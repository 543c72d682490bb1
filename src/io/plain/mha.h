/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_MHA_H
#define QB_IO_MHA_H

#include "quickbeam/array.h"

typedef struct qb__mha_type {
    const char *name;
    qb_dtype dtype;
} qb__mha_type;
enum { QB__MHA_TYPES = 8 };
extern const qb__mha_type qb__mha_types[QB__MHA_TYPES];

#endif
