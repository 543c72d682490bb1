/* SPDX-License-Identifier: MIT */
#pragma once

#include "bench/trial/trial.h"
#include "quickbeam/geometry.h"

/* The rays of the projection benchmark: a full circle with the source two and the detector three volumes away, large
 * enough for the volume; or half a circle of parallel rays. */
qb_status qb__project_circle(const qb__trial_sizes *sizes, qb_geometry *geometry);
/* The relative L2 error of line integrals [view][row][column] of a volume, for sampled rays, against the oracle in
 * double precision. */
double qb__project_error(const qb_geometry *geometry, const qb_grid *grid, const float *volume, const float *lines);
double qb__project_dot(const float *a, const float *b, size_t count);
