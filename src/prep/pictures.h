/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* For the command of the same build; not a part of the public interface. */

/* A scan's numbers after one step of preparation, and all steps before it: a view and a sinogram. */
typedef struct qb_tool_picture {
    const char *step;  /* "as stored", "line integrals", "zingers", ... */
    const char *units; /* "counts" or "" */
    size_t view, row;  /* the drawn view, and the detector row of the sinogram */
    size_t row0, row1; /* rows of the view that were prepared; the others are NaN */
    size_t rows, columns, lines;
    const float *image;    /* [rows][columns] of the view */
    const float *sinogram; /* [lines][columns]: views i * views / lines */
} qb_tool_picture;
typedef void (*qb_tool_picture_fn)(void *user, const qb_tool_picture *picture);

/* Call `see` with the numbers as stored and after each step that changes them, in order. A step that needs all views of
 * its rows, such as ring removal, is shown for a band of rows of at most 2^25 numbers. `geometry` is NULL for a
 * parallel beam. */
QB_API qb_status qb_tool_prepare_pictures(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                                          const qb_env *env, qb_tool_picture_fn see, void *user);
