/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_PROJECT_JOSEPH_PROJECT_JOSEPH_ROWS_H
#define QB_CPU_PROJECT_JOSEPH_PROJECT_JOSEPH_ROWS_H

#include "project_joseph.h"

extern const qb__joseph_variant qb__project_joseph_scalar, qb__project_joseph_avx2, qb__project_joseph_avx512;

#endif
