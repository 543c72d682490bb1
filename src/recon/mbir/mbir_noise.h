/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* --snr-db auto. sigma_y depends on two things: the noise of the line integrals, and what the prior smooths anyway.
 *
 * A voxel of side a adds a^2 / p to the sum of a view's line integrals, where p is the pixel at the axis. With mean
 * weight w, V views give a pattern of neighbouring voxels that differ by sigma_x a data term of about C (sigma_x /
 * sigma_y)^2, C = w V a^3 / p; for views over a part of the half turn, V counts as if they had the same density over
 * all of it. With sigma_y^2 = 5 C sigma_x^2 the prior's term is about ten times as large: such patterns are noise, or
 * artefacts of too few views and of square voxels, and edges larger than sigma_x stay. Over phantoms of 128^2 to 256^2
 * voxels and 48 to 360 views without noise, the best factor was 4 to 10.
 *
 * Noise s (rms of the noise of w^1/2 times a line integral) makes patterns of n sigma_x, n^2 = s^2 / (C sigma_x^2). If
 * they are larger than sigma_x, where the prior grows only as |d|^p, its weight must grow with them; from a fit to
 * these phantoms with 800 to 20,000 photons per pixel, and to a measured tooth with 200 to 28,000:
 *
 *   sigma_y^2 = 5 C sigma_x^2 (1 + n^2 / 3)^0.6
 *
 * For cones with 13 to 201 views and 1,000 to 100,000 photons (64^3 and 128^3 voxels, four phantoms) 5.8 instead of 5
 * and 0.25 instead of 0.6 were best. */

/* Noise s of lines[sinogram][view][column] with their weights (0: masked); order[view]: views sorted by angle. A mixed
 * second difference over views and columns removes the object's smooth part. A quarter of the differences are smaller
 * than 0.32 s; edges are among the others. If everything is an edge, the result is too large. If the numbers were
 * counts or transmissions (`photons`), rays outside the object, which have no edges, give the number of photons, from
 * which the variance grows as e^y; the smaller s of both is taken. 0 for fewer than three views or columns. */
double qb__mbir_noise(const float *lines, const float *weights, size_t sinograms, size_t views, size_t columns,
                      const size_t *order, double limit, bool photons);
/* sigma_y for this noise. prior: sigma_x from the data; information: C. */
double qb__mbir_sigma_y(double noise, double information, double prior, bool cone);

/* The part of C that the geometry gives: number of views (as if over the half turn), voxels, pixels; and the order of
 * views by angle. */
qb_status qb__mbir_views_around(const qb__mbir *m, double *views, size_t *order);
