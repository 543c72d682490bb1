/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_NOISE_H
#define QB_RECON_MBIR_NOISE_H

#include "recon/mbir/mbir.h"

/* --snr-db auto. Two things set sigma_y: the noise of the line integrals, and what the prior smooths anyway.
 *
 * A voxel of side a adds a^2 / p to the sum of a view's line integrals, p the pixel at the axis. Where weights are w on average,
 * V views give a pattern of neighbouring voxels that differ by sigma_x a data term of about C (sigma_x / sigma_y)^2, C = w V a^3 / p;
 * of views over a part of the half turn, V counts as if they were as dense all around. With sigma_y^2 = 5 C sigma_x^2 the prior's
 * term is some ten times as large: such patterns are noise, or artefacts of too few views and of voxels that are squares, and edges
 * larger than sigma_x stay. Over phantoms of 128^2 to 256^2 voxels, 48 to 360 views without noise, the best factor was 4 to 10.
 *
 * Noise of s (rms of w^1/2 times a line integral's) makes patterns of n sigma_x, n^2 = s^2 / (C sigma_x^2). Where they are larger than
 * sigma_x, and the prior grows as |d|^p only, its weight must grow with them; by fit to these phantoms with 800 to 20,000 photons a
 * pixel, and to a measured tooth with 200 to 28,000:
 *
 *   sigma_y^2 = 5 C sigma_x^2 (1 + n^2 / 3)^0.6
 *
 * Of cones with 25 or 201 views and 2,000 to 100,000 photons (128^3 voxels, phantoms of three kinds) 2.5 instead of 5 was best. */

/* s of lines[sinogram][view][column] and their weights (0: not looked at); order[view]: neighbours in angle side by side. A mixed
 * second difference over views and columns takes out what the object's shape has; a quarter of them are smaller than 0.32 of s: edges
 * are among the others. An object of edges alone makes it too large. Where numbers were counts or transmissions (`photons`), rays beside the object,
 * which have no edges, say how many photons there are: the variance grows as e^y from there; the smaller s of both is taken. 0 of fewer than
 * three views or columns. */
double qb__mbir_noise(const float *lines, const float *weights, size_t sinograms, size_t views, size_t columns,
                      const size_t *order, double limit, bool photons);
/* sigma_y for this noise; `prior` is sigma_x as the data say, `information` C. */
double qb__mbir_sigma_y(double noise, double information, double prior, bool cone);

/* What the geometry says of C: views (as if all around), voxels, pixels; and the order of views by angle. */
qb_status qb__mbir_views_around(const qb__mbir *m, double *views, size_t *order);

#endif
