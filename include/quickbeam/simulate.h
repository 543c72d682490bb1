/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SIMULATE_H
#define QUICKBEAM_SIMULATE_H

#include "quickbeam/env.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Analytic projections of ellipsoid phantoms, with the noise and faults of a measured scan. Fields
 * of zero, no numbers or NULL take the default named; `output` has none. What a geometry file says
 * (all of it: views, angles, distances, faults; for JSON the detector too) must not be said again. */
typedef struct qb_simulate_options {
    size_t struct_size;   /* see qb_params_init */
    const char *geometry; /* parallel, cone, or a file that qb_geometry_load reads; NULL = parallel */
    /* NX[,NY[,NZ]] voxels of the box the phantom fills and of `truth`, one number = a cube;
     * default: detector columns, columns, rows. A voxel is pixel_size / magnification. */
    qb_numbers size;
    int views;           /* default: N of FROM:TO:N, else pi/2 times the columns */
    qb_numbers detector; /* COLUMNS[,ROWS], one number = a square; default: size's, else 256,256 */
    const char *angles;  /* as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    double sod, sdd;     /* mm, cone only, both needed */
    const char *offset;  /* these three: cone only, as in qb_geometry_options */
    double radius;
    qb_numbers tilt, jitter;
    double pixel_size;  /* mm, of the detector; default: its columns see 256 mm at the axis */
    double attenuation; /* 1/mm of value 1.0; 0 = 0.02 */
    /* Per pixel in the flats: uint16 counts with 20 flats and 10 darks; 0 = noiseless transmission,
     * float32. One count is one photon while the flats fit into 16 bits, else as many photons as it
     * takes (said in the log and in the provenance). */
    double photons;
    double rings;         /* relative spread of the faulty columns' gain (one in ten); 0 = none */
    double center_offset; /* pixels: the axis falls on column (columns - 1) / 2 + center_offset */
    int seed;
    const char *truth;        /* volume file to write: 1/mm, each voxel the mean over 3x3x3 points */
    const char *geometry_out; /* file to write, of a kind that qb_geometry_save knows */
    const char *output;
    double voxel;      /* mm, of the box and of `truth`; 0 = pixel_size / magnification */
    qb_numbers pixels; /* mm along columns and rows, U,V, or one number for both, in place of pixel_size */
    const char *
        faults; /* KIND=VALUE,...: wide, partial, drifting, dead, flicker columns; tilt, fade, move, sway of the beam */
    int flat_series; /* series of 20 flats, evenly spaced from before the first view to behind the last; 0 = one, before */
    const char *
        spectrum; /* MATERIAL[+DENSE],KV[,FILTER:MM...][,at:KEV]: of a tube, through a phantom of that material; NULL = one energy */
} qb_simulate_options;
QB_API extern const qb_param qb_simulate_params[];

/* phantom: shepp-logan, disc, ball, spheres, foam, inserts, baggage; or rabbitct, a data set of that benchmark: a head in
 * a C-arm, filtered and weighted, `views` (496) of `detector` (1248,960) and references up to `size`
 * (256) cubed, as NAME.rct in the original layout or as a folder in the newer one; other options are
 * refused. Streams view by view to options->output, after
 * truth and geometry. The result depends on the options alone, not on threads. QB_BAD_ARGUMENT for
 * options that contradict each other or lack something, and what qb_writer_create and
 * qb_angles_parse return; what was not finished leaves no file. */
QB_API qb_status qb_simulate(const char *phantom, const qb_simulate_options *options, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
