/* SPDX-License-Identifier: MIT */
/* Dense weak stripes from the profile p[column], the mean over the views: the difference p - q from a smooth curve q.
 * The curves differ in their response over wavelengths; for each, half of a wave of `small` columns counts as a stripe.
 *
 *   titarenko    q = (1 + L^2 D'D)^-1 p, D the difference of neighbours: s = p - q minimises |D(p - s)|^2 + |s|^2 / L^2
 *                (Titarenko, Withers, Yagola, Appl. Phys. Lett. 95 (2009) 071113, in one dimension); L = small / (2 pi)
 *   raven        q = p filtered by Butterworth's 1 / (1 + (f small)^8), for the views' zero frequency only (Raven, Rev.
 *                Sci. Instrum. 69 (1998) 2978)
 *   double-flat  q = p filtered by a Gaussian: the mean of the corrected views is a second flat (Jailin, Buffiere,
 *                Hild, Poncelet, Roux, J. Synchrotron Rad. 24 (2017) 220, along the row)
 *   fit          q = a cubic fitted to `small` columns around each (Savitzky, Golay, Anal. Chem. 36 (1964) 1627), for
 *                the fits over columns of Vo, Atwood, Drakopoulos (Opt. Express 26 (2018) 28396)
 *
 * Columns are mirrored at the ends. */
#include <math.h>
#include <string.h>

#include "prep/rings.h"

static double mirrored(const double *p, size_t n, ptrdiff_t at) { return p[qb__rings_mirrored(at, n)]; }

static void convolve(const double *p, size_t n, const double *half, size_t reach, double *q) {
    double sum = half[0];
    for (size_t k = 1; k <= reach; k++) sum += 2 * half[k];
    for (size_t c = 0; c < n; c++) {
        double value = half[0] * p[c];
        for (size_t k = 1; k <= reach; k++)
            value += half[k] * (mirrored(p, n, (ptrdiff_t)(c - k)) + mirrored(p, n, (ptrdiff_t)(c + k)));
        q[c] = value / sum;
    }
}

void qb__rings_titarenko(double small, const double *p, size_t n, double *q, double *scratch) {
    const double weight = small * small / (4 * M_PI * M_PI);
    double before = 0; /* Thomas' algorithm: scratch[c] = upper over diagonal */
    for (size_t c = 0; c < n; c++) {
        const double sides = c == 0 || c + 1 == n ? 1 : 2, diagonal = 1 + weight * sides + (c ? weight * before : 0);
        scratch[c] = -weight / diagonal;
        q[c] = (p[c] + (c ? weight * q[c - 1] : 0)) / diagonal;
        before = scratch[c];
    }
    for (size_t c = n - 1; c-- > 0;) q[c] -= scratch[c] * q[c + 1];
}

void qb__rings_raven(double small, const double *p, size_t n, double *q, double *scratch) {
    enum { STEPS = 256 };
    size_t reach = (size_t)(3 * small);
    if (reach > n - 1) reach = n - 1;
    for (size_t k = 0; k <= reach; k++) {
        double sum = 0;
        for (size_t i = 0; i < STEPS; i++) {
            const double f = 0.5 * ((double)i + 0.5) / STEPS, fall = pow(f * small, 8);
            sum += cos(2 * M_PI * f * (double)k) / (1 + fall);
        }
        const double end = cos(0.5 * M_PI * (double)k / (double)(reach + 1)); /* avoids artefacts of the cut-off */
        scratch[k] = sum * end * end;
    }
    convolve(p, n, scratch, reach, q);
}

void qb__rings_double_flat(double small, const double *p, size_t n, double *q, double *scratch) {
    const double sigma = small * sqrt(0.5 * M_LN2) / M_PI;
    size_t reach = (size_t)(4 * sigma + 1);
    if (reach > n - 1) reach = n - 1;
    for (size_t k = 0; k <= reach; k++) scratch[k] = exp(-0.5 * (double)(k * k) / (sigma * sigma));
    convolve(p, n, scratch, reach, q);
}

/* The weights of a least-squares cubic at its middle. */
void qb__rings_fit(double small, const double *p, size_t n, double *q, double *scratch) {
    size_t reach = (size_t)(0.5 * small);
    if (reach > n - 1) reach = n - 1;
    if (reach < 2) reach = 2;
    const double m = (double)reach;
    for (size_t k = 0; k <= reach; k++) scratch[k] = 3 * m * m + 3 * m - 1 - 5 * (double)(k * k);
    convolve(p, n, scratch, reach, q);
}

void qb__rings_profile(const qb__rings_how *how, const qb__rings_row *row, double *scratch, double *found) {
    const size_t n = row->columns;
    double *mean = scratch, *room = mean + n;
    memset(mean, 0, n * sizeof *mean);
    for (size_t b = 0; b < row->blocks; b++)
        for (size_t c = 0; c < n; c++) mean[c] += row->means[b * n + c];
    for (size_t c = 0; c < n; c++) mean[c] = mean[c] / (double)row->blocks - row->stripe[c];
    how->smooth((double)how->small, mean, n, found, room);
    for (size_t c = 0; c < n; c++) found[c] = mean[c] - found[c];
}
