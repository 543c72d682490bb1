/* SPDX-License-Identifier: MIT */
#pragma once

#include "project_joseph.h"

extern const qb__joseph_variant qb__project_joseph_scalar, qb__project_joseph_avx2, qb__project_joseph_avx512;
