/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/icd/icd.h"
#include "cpu/prior/prior.h"
#include "ops/vectors.h"

/* A descent step of the cost of cpu/prior/prior.h, on vectors. */
typedef struct qb__prior_step_of {
    void *x, *slope, *curve, *toward; /* vectors of unknowns, see qb__prior_volume */
    double data;                      /* the slope of the data term is this times `slope` */
    size_t first, end; /* only slices first <= z < end step, in all others slope becomes 0; end = 0: all slices */
    bool nonneg, only_slopes, cost;
} qb__prior_step_of;

qb__prior_numbers qb__prior_numbers_of(const qb__icd_prior *prior, double pull);
/* Returns the cost of prior and proximal term at x if `cost` is set. */
double qb__vector_prior(const qb__vectors *v, const qb__prior_numbers *numbers, const qb__prior_step_of *step,
                        size_t count);
