/* SPDX-License-Identifier: MIT */
#include "prep/line_mass.h"

#include <math.h>

#include "base/log.h"
#include "base/sort.h"
#include "base/warning.h"

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, FEWEST = 16 };

/* Variation of the sums of one row: from the median of distances to the median, which single views do not change. */
static bool swing_of(const qb__line_mass *row, size_t columns, double *swing) {
    /* NOISE: in units of the noise of the centre of mass, in widths of the row */
    const double GAUSS = 1.4826, NOISE = 50;
    double mass[VIEWS], noise = 0;
    size_t n = 0;
    for (size_t v = 0; v < VIEWS; v++) {
        if (!row[v].looked) continue;
        if (!row[v].whole) return false;
        noise = fmax(noise, row[v].noise / (double)columns);
        mass[n++] = row[v].mass;
    }
    if (n < FEWEST) return false;
    const double middle = qb__median(mass, n);
    for (size_t v = 0; v < n; v++) mass[v] = fabs(mass[v] - middle);
    *swing = middle > 0 ? GAUSS * qb__median(mass, n) / middle : 0;
    if (*swing < NOISE * noise) *swing = 0;
    return true;
}

double qb__view_sums_swing(const qb__line_mass *lines, size_t columns) {
    /* Edges that fall between pixels make the sums of few columns vary, too. */
    const double MUCH = fmax(0.05, 4.0 / (double)columns), LEAST = MUCH / 2;
    double swing[GROUPS];
    size_t rows = 0, many = 0;
    for (size_t g = 0; g < GROUPS; g++)
        if (swing_of(lines + g * VIEWS, columns, &swing[rows])) many += swing[rows++] > LEAST;
    if (rows == 0 || 4 * many < 3 * rows) return 0;
    const double middle = qb__median(swing, rows);
    return middle > MUCH ? middle : 0;
}

void qb__view_sums_warn(double swing, const qb_env *env) {
    if (swing > 0)
        qb__warn(env,
                 "sums of line integrals over a row differ by %.2g %% from view to view, though all of the object is "
                 "seen: numbers are not -ln of transmission, or the beam is hardened" QB__CODE("sums-swing"),
                 100 * swing);
}
