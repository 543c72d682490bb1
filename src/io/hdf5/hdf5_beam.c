/* SPDX-License-Identifier: MIT */
/* Beam data in HDF5 files that phase retrieval needs: energy, and distance from object to detector. */
#include <stdio.h>
#include <strings.h>

#include "io/hdf5/hdf5.h"

/* Factor from the unit to keV; 0: the unit is unknown. */
static double energy_unit(const char *word) {
    static const struct {
        const char *word;
        double factor;
    } units[] = {{"keV", 1}, {"eV", 1e-3}, {"MeV", 1e3}, {"kilo_electronVolt", 1}, {"electronVolt", 1e-3}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(word, units[i].word) == 0) return units[i].factor;
    return 0;
}

const qb__h5_kind qb__h5_length = {"length", qb__length_unit, false};
const qb__h5_kind qb__h5_distance = {"length", qb__length_unit, true};
const qb__h5_kind qb__h5_energy = {"energy", energy_unit, false};

void qb__h5_beam(hid_t file, const char *name, const char *const *energies, const char *const *distances,
                 qb__scan_parts *parts) {
    char energy[QB__H5_WHY], distance[QB__H5_WHY];
    parts->energy = qb__h5_first_of(file, name, energies, &qb__h5_energy, &parts->notes, energy);
    parts->distance = qb__h5_first_of(file, name, distances, &qb__h5_distance, &parts->notes, distance);
    if (parts->energy > 0) *energy = 0;
    if (parts->distance > 0) *distance = 0;
    snprintf(parts->beam_unset, sizeof parts->beam_unset, "%s%s%s", energy, *energy && *distance ? "; " : "", distance);
}
