/* SPDX-License-Identifier: MIT */
/* What phase retrieval needs of a beam and HDF5 files state: its energy, and the distance from the object to the detector. */
#ifdef QB_HAVE_HDF5
#include <math.h>
#include <strings.h>

#include "base/memory.h"
#include "io/hdf5/hdf5.h"

/* keV; 0: no known unit. */
static double energy_unit(const char *word) {
    return strcasecmp(word, "keV") == 0 ? 1 : strcasecmp(word, "eV") == 0 ? 1e-3 : 0;
}

/* The first of these datasets that holds a number with a known unit, positive; 0: none does. */
static double first_of(hid_t file, const char *name, const char *const *paths, double (*unit)(const char *word)) {
    for (; *paths; paths++) {
        char units[32];
        double *values;
        size_t count;
        if (!qb__h5_exists(file, *paths) || !qb__h5_text(file, *paths, "units", units, sizeof units)) continue;
        if (qb__h5_numbers(file, name, *paths, 1024, &values, &count) != QB_OK) continue;
        const double value = count && isfinite(values[0]) ? fabs(values[0]) * unit(units) : 0;
        qb__free(values);
        if (value > 0) return value;
    }
    return 0;
}

void qb__h5_beam(hid_t file, const char *name, const char *const *energies, const char *const *distances,
                 qb__scan_parts *parts) {
    parts->energy = first_of(file, name, energies, energy_unit);
    parts->distance = first_of(file, name, distances, qb__length_unit);
}
#else
typedef int qb__no_hdf5;
#endif
