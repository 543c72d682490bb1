/* SPDX-License-Identifier: MIT */
#pragma once

#include <assert.h>
#include <stddef.h>

#include "quickbeam/param.h"
#include "quickbeam/recon.h"

/* A choice is stored as an int. */
static_assert(sizeof(qb_pad) == sizeof(int) && sizeof(qb_interp) == sizeof(int) && sizeof(qb_accuracy) == sizeof(int) &&
                  sizeof(qb_resample) == sizeof(int),
              "enums must be as large as int");

/* Rows that the option tables of several reconstructions share. `type` is the struct, whose field has the name of the
 * option. */
#define QB__ROW(type, name, kind, meta, initial, choices, min, max, help)                                              \
    { #name, kind, offsetof(type, name), meta, initial, choices, min, max, help, 0 }

#define QB__FILTER_ROWS(type)                                                                                          \
    QB__ROW(type, filter, QB_PARAM_TEXT,                                                                               \
            "ramp|shepp-logan|cosine|hann|hamming|blackman|parzen|butterworth|none|NAME:CUTOFF|FILE", "ramp", NULL, 0, \
            0, "what rows are filtered by; with its cut-off as a fraction of Nyquist, or a file"),                     \
        QB__ROW(type, pad, QB_PARAM_CHOICE, NULL, "edge", "edge|zero|mirror|taper|ellipse", 0, 0,                      \
                "what continues a row beyond the detector; for an object wider than it taper (fades over half the "    \
                "width) or ellipse (of the row's own curvature)")

#define QB__KERNEL_ROWS(type)                                                                                          \
    QB__ROW(type, accuracy, QB_PARAM_CHOICE, NULL, "normal", "high|normal|fast", QB_ACCURACY_HIGH, 0,                  \
            "error of back-projection: at most 5e-5, 1e-3 or 6e-3 of the signal"),                                     \
        QB__ROW(type, kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,                                                   \
                "the back-projection kernel to use, whatever the planner thinks (qb devices "                          \
                "lists them)")

#define QB__SIZE_ROW(type)                                                                                             \
    QB__ROW(type, size, QB_PARAM_NUMBERS, "NX[,NY[,NZ]]|object", NULL, NULL, 1, 65536,                                 \
            "voxels of the volume; default: detector columns, columns, rows; with the axis to one side, as wide "      \
            "as a full turn sees")

#define QB__VOXEL_ROW(type)                                                                                            \
    {                                                                                                                  \
        "voxel", QB_PARAM_NUMBERS, offsetof(type, voxels), "MM|X,Y,Z", NULL, NULL, 0, 1e6,                             \
            "voxel in mm, one number or three; default: a detector pixel at the axis", 0                               \
    }
#define QB__LIKE_ROW(type)                                                                                             \
    QB__ROW(type, like, QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0, "the same grid as this volume: size, voxel, offset")

#define QB__OUTSIDE_ROWS(type)                                                                                         \
    QB__ROW(type, outside, QB_PARAM_CHOICE, NULL, "keep", "keep|zero|nan", 0, 0,                                       \
            "voxels that not all views see, whose values are incomplete"),                                             \
        QB__ROW(type, circle, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0,                                                   \
                "0 (or what --outside says) beyond the circle that all views see")

#define QB__HU_ROW(type)                                                                                               \
    QB__ROW(type, hu, QB_PARAM_DOUBLE, "MU_WATER", NULL, NULL, 1e-12, 1e6,                                             \
            "write Hounsfield units; the attenuation of water in 1/mm")

/* Rows for qb_angle_weights. */
#define QB__ANGLE_WEIGHTS_ROW(type)                                                                                    \
    {                                                                                                                  \
        "angle-weights", QB_PARAM_CHOICE, offsetof(type, angle_weights), NULL, "auto", "auto|capped|spacing|even", 0,  \
            0,                                                                                                         \
            "what a view counts for: half the steps to its neighbours, gaps shared by the views beside them (auto) "   \
            "or "                                                                                                      \
            "left to the two at their borders (spacing); at most twice the median (capped); all the same (even)",      \
            0                                                                                                          \
    }

#define QB__KEEP_ROWS(type)                                                                                            \
    QB__ROW(type, resume, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0,                                                       \
            "go on where a run of the same job was killed or failed"),                                                 \
        QB__ROW(type, checkpoint, QB_PARAM_DOUBLE, "SECONDS", "300", NULL, 0, 1e9,                                     \
                "note so often what is done, for --resume; 0: never")
