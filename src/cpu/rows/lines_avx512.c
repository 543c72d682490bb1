/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx512
#include "cpu/rows/lines_body.h"
