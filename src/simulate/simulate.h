/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/inputs.h"
#include "base/pool.h"
#include "geometry/partition.h"
#include "geometry/phantom.h"
#include "io/publish/publication.h"
#include "prep/spectrum.h"
#include "quickbeam/io.h"
#include "quickbeam/simulate.h"
#include "simulate/detector.h"
#include "simulate/faults.h"

/* Line integrals of a polychromatic tube (prep/spectrum.h) through a phantom of one or two materials. */
typedef struct qb__polychromatic {
    /* measured line integral / monochromatic one, at equal steps of the latter from 0 to `end`; NULL: one energy */
    double *ratio;
    double end, slope;  /* slope: d measured / d monochromatic beyond `end` */
    qb__two_beam *both; /* NULL: one material */
    qb__phantom dense;  /* the parts of the second material */
} qb__polychromatic;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]; NULL: one energy. BASE+DENSE for a phantom with dense parts, which get the
 * second material; value 1.0 of the others is `attenuation`. */
qb_status qb__polychromatic_create(const char *text, double attenuation, qb__phantom *phantom,
                                   qb__polychromatic *polychromatic);
void qb__polychromatic_destroy(qb__polychromatic *polychromatic);
/* Convert line integrals at the energy that the spectrum names into measured ones. */
void qb__polychromatic_apply(const qb__polychromatic *polychromatic, size_t count, double *line);
/* The same for two materials: rows row <= r < end of a view, as qb__phantom_project(); dense[rows * columns] is
 * scratch. */
void qb__polychromatic_apply_two(const qb__polychromatic *polychromatic, const qb_geometry *geometry, size_t view,
                                 size_t row, size_t end, double *line, double *dense, void *scratch);

/* A simulation with all decisions made. */
enum { QB__SIMULATED_FLATS = 20 }; /* flats of a series */

typedef struct qb__simulation {
    const char *name; /* name of the phantom; owned by the caller */
    const qb_simulate_options *options;
    size_t views, rows, columns;
    double pixel, pixel_v, center; /* mm along columns and rows; column of the axis */
    double astray;  /* largest deviation of a view's axis from `center`, in pixels, with a geometry file */
    bool from_file; /* the geometry is from a file */
    bool plain;     /* the geometry is an ideal circle or parallel beam */
    double *angles; /* [views] radians */
    qb_geometry geometry;
    qb_geometry exposed; /* with the movements of --faults shifts; owns its views if there are some, and nothing else */
    qb_grid grid;
    qb__phantom phantom;
    qb__detector detector;
    qb__detector_faults faults;
    qb__polychromatic polychromatic;
    qb__pool *pool;
    qb__publication *set; /* scan, truth and geometry are published together or not at all */
    size_t flat_series;   /* number of series of QB__SIMULATED_FLATS flats */
    qb__cut scan, truth;  /* chunks: views, and slices of the truth, that are held at a time */
    qb__inputs inputs;    /* files of the geometry and the angles */
} qb__simulation;

void qb__simulation_destroy(qb__simulation *simulation);

/* Take views, detector, voxels and angles from s->geometry, which must be set. */
qb_status qb__simulate_adopt(qb__simulation *simulation, const qb_simulate_options *options);
/* Set the positions of views, detector and box. */
qb_status qb__simulate_place(qb__simulation *simulation, const qb_simulate_options *options, const qb_env *env);
/* Column of the axis of a parallel beam, as qb_stack.axis. */
double qb__simulate_axis(const qb__simulation *simulation);
/* Check that no source lies inside the phantom or looks away from it. */
qb_status qb__simulate_check_sources(const qb__simulation *simulation);

/* Bytes of a view while it is made, and bytes held besides: by threads, for flats and darks. */
typedef struct qb__simulate_bytes {
    double view, scratch, fields;
} qb__simulate_bytes;
qb__simulate_bytes qb__simulate_needs(const qb__simulation *simulation);

/* Write the views, with flats, darks, truth and geometry if they are asked for. */
qb_status qb__simulate_write(const qb__simulation *simulation, const qb_env *env);
/* Write options->truth and options->geometry_out. */
qb_status qb__simulate_truth(const qb__simulation *simulation, const qb_env *env);
qb_status qb__simulate_geometry(const qb__simulation *simulation);
/* True if the output is a description of the scan (io/scan/simulated.c) and not its values; and write it. */
bool qb__simulate_describes(const qb_simulate_options *options);
qb_status qb__simulate_describe(const qb__simulation *simulation);
/* The file is complete: add its provenance and publish it. *writer becomes NULL when publishing begins. */
qb_status qb__simulate_finish(const qb__simulation *simulation, qb_writer **writer);

/* Write a RabbitCT data set instead of a scan. */
qb_status qb__simulate_rabbitct(const qb_simulate_options *options, const qb_env *env);
