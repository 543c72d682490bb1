/* SPDX-License-Identifier: MIT */
/* Mass attenuation with coherent scattering, in cm2/g, and densities: figures of NIST's tables (J. H. Hubbell and S. M.
 * Seltzer, NISTIR 5632, https://doi.org/10.18434/T4D01F). Between them the logarithm of the attenuation is a cubic of
 * the logarithm of the energy, within 1.2 % of NIST's values. */
#include "prep/spectrum.h"

#include <math.h>
#include <string.h>

#include "base/pchip.h"

enum { ENERGIES = 13, POINTS = ENERGIES + 2 };

static const double energy[ENERGIES] = {QB__LEAST_KEV, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, QB__MOST_KEV};

struct qb__material {
    const char *name;
    double density; /* g/cm3 */
    double mass[ENERGIES];
    struct {
        double kev, below, above;
    } edge; /* kev 0: no edge in the range */
};

static const qb__material materials[] = {
    {"water",
     1.0,
     {5.329, 1.673, .8096, .3756, .2683, .2269, .2059, .1837, .1707, .1505, .1370, .1186, .1061},
     {0, 0, 0}},
    {"pmma",
     1.19,
     {3.357, 1.101, .5714, .3032, .2350, .2074, .1924, .1751, .1641, .1456, .1328, .1152, .1031},
     {0, 0, 0}},
    {"bone",
     1.92,
     {28.51, 9.032, 4.001, 1.331, .6655, .4242, .3148, .2229, .1855, .1480, .1309, .1113, .09908},
     {0, 0, 0}},
    {"c",
     1.70,
     {2.373, .8071, .4420, .2562, .2076, .1871, .1753, .1610, .1514, .1347, .1229, .1066, .09546},
     {0, 0, 0}},
    {"al",
     2.699,
     {26.23, 7.955, 3.441, 1.128, .5685, .3681, .2778, .2018, .1704, .1378, .1223, .1042, .09276},
     {0, 0, 0}},
    {"ti",
     4.54,
     {110.7, 35.87, 15.85, 4.972, 2.214, 1.213, .7661, .4052, .2721, .1649, .1314, .1043, .09081},
     {0, 0, 0}},
    {"fe",
     7.874,
     {170.6, 57.08, 25.68, 8.176, 3.629, 1.958, 1.205, .5952, .3717, .1964, .1460, .1099, .09400},
     {0, 0, 0}},
    {"cu",
     8.96,
     {215.9, 74.05, 33.79, 10.92, 4.862, 2.613, 1.593, .7630, .4584, .2217, .1559, .1119, .09413},
     {0, 0, 0}},
    {"sn",
     7.31,
     {138.5, 46.64, 21.46, 41.21, 19.42, 10.70, 6.564, 3.029, 1.676, .6091, .3260, .1639, .1156},
     {29.2, 7.76, 43.6}},
};

const qb__material *qb__material_find(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof materials / sizeof *materials; i++)
        if (strlen(materials[i].name) == length && strncasecmp(materials[i].name, name, length) == 0)
            return &materials[i];
    return NULL;
}

double qb__material_mu(const qb__material *m, double kev) {
    double x[POINTS], y[POINTS];
    size_t count = 0;
    for (size_t i = 0; i < ENERGIES; i++) {
        if (m->edge.kev > 0 && i > 0 && energy[i - 1] < m->edge.kev && m->edge.kev < energy[i]) {
            x[count] = x[count + 1] = log(m->edge.kev);
            y[count++] = log(m->edge.below), y[count++] = log(m->edge.above);
        }
        x[count] = log(energy[i]), y[count++] = log(m->mass[i]);
    }
    return m->density / 10 * exp(qb__pchip(x, y, count, log(kev)));
}
