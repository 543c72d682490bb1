/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_cone.h"

/* The rows of the variant table; each is defined in the source file of its instruction set. */
extern const qb__bp_cone_variant qb__bp_cone_matrix_scalar, qb__bp_cone_matrix_avx2, qb__bp_cone_matrix_avx2_float,
    qb__bp_cone_matrix_avx512, qb__bp_cone_matrix_avx512vnni, qb__bp_cone_matrix_avx512_float;
extern const qb__bp_cone_variant qb__bp_cone_circular_scalar, qb__bp_cone_circular_avx2, qb__bp_cone_circular_avx512;
