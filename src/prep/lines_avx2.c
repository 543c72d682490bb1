/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx2
#include "prep/lines_body.h"
