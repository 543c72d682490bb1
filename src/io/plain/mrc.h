/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "quickbeam/array.h"

/* What the reader and the writer of MRC share. Positions are numbers of 32-bit words in the header; those with ..._AT
 * are bytes. */
enum { QB__MRC_HEADER = 1024, QB__MRC_SIZE_MOST = 1 << 24, QB__MRC_LABEL_AT = 224 };
enum {
    QB__MRC_NX,
    QB__MRC_NZ = 2,
    QB__MRC_MODE,
    QB__MRC_MX = 7,
    QB__MRC_XLEN = 10,
    QB__MRC_MAPC = 16,
    QB__MRC_SPACE_GROUP = 22,
    QB__MRC_EXTENDED,
    QB__MRC_FLAGS = 39,
    QB__MRC_ORIGIN = 49
};
#define QB__MRC_ANGSTROM 1e-7        /* one angstrom in mm */
#define QB__MRC_WRITER "quickbeam, " /* beginning of the label in files of this program */

typedef struct qb__mrc_type {
    int32_t mode;
    qb_dtype dtype;
} qb__mrc_type;

enum { QB__MRC_TYPES = 5 };
extern const qb__mrc_type qb__mrc_types[QB__MRC_TYPES];
