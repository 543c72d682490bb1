/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SIMULATE_H
#define QUICKBEAM_SIMULATE_H

#include "quickbeam/env.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Analytic projections of ellipsoid phantoms, with the noise and faults of a measured scan. 0, an empty list and NULL
 * stand for the default that the comment names; `output` has none. Values that a geometry file has (views, angles,
 * distances, misalignments; for JSON the detector too) must not be given again. */
typedef struct qb_simulate_options {
    size_t struct_size;   /* see qb_params_init */
    const char *geometry; /* parallel, cone, or a file that qb_geometry_load reads; NULL = parallel */
    /* NX[,NY[,NZ]] voxels of the phantom's box and of `truth`, one number = a cube; default: detector columns, columns,
     * rows. A voxel is pixel_size / magnification. */
    qb_numbers size;
    int views;           /* default: N of FROM:TO:N, else pi/2 times the columns */
    qb_numbers detector; /* COLUMNS[,ROWS], one number = a square; default: size's, else 256,256 */
    const char *angles;  /* angles as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    double sod, sdd;     /* mm, cone only, both needed */
    const char *offset;  /* offset, radius, tilt and jitter: cone only, as in qb_geometry_options */
    double radius;
    qb_numbers tilt, jitter;
    double pixel_size;  /* mm, of the detector; default: its columns see 256 mm at the axis */
    double attenuation; /* 1/mm of value 1.0; 0 = 0.02 */
    /* Photons per pixel of a flat: uint16 counts with 20 flats and 10 darks; 0 = noiseless transmission, float32. One
     * count is one photon if the flats fit into 16 bits, else several photons (see log and provenance). */
    double photons;
    double rings;         /* relative spread of the faulty columns' gain (one in ten); 0 = none */
    double center_offset; /* pixels: the axis falls on column (columns - 1) / 2 + center_offset */
    int seed;
    const char *truth;        /* volume file to write: 1/mm, each voxel the mean over 3x3x3 points */
    const char *geometry_out; /* geometry file to write (qb_geometry_save) */
    const char *output;
    double voxel;      /* mm, of the box and of `truth`; 0 = pixel_size / magnification */
    qb_numbers pixels; /* pixel size U,V in mm along columns and rows, or one number; instead of pixel_size */
    /* KIND=VALUE,...: wide, partial, drifting, dead, flicker columns; tilt, fade, move, sway of the beam */
    const char *faults;
    int flat_series; /* series of 20 flats, evenly spaced over the scan, both ends included; 0 = one, before it */
    /* Spectrum of a tube and material of the phantom: MATERIAL[+DENSE],KV[,FILTER:MM...][,at:KEV]; NULL = one energy */
    const char *spectrum;
} qb_simulate_options;
QB_API extern const qb_param qb_simulate_params[];

/* phantom: shepp-logan, disc, ball, spheres, foam, inserts, baggage; or rabbitct, a data set of that benchmark: a head
 * in a C-arm, filtered and weighted, `views` (496) of `detector` (1248,960) and references up to `size` (256) cubed, as
 * NAME.rct in the original layout or as a folder in the newer one; other options are refused.
 *
 * Writes truth and geometry first, then the views one by one. The result depends on the options only, not on threads.
 * QB_BAD_ARGUMENT for options that contradict each other or are missing; errors of qb_writer_create and
 * qb_angles_parse. A failed call leaves no file. */
QB_API qb_status qb_simulate(const char *phantom, const qb_simulate_options *options, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
