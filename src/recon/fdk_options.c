/* SPDX-License-Identifier: MIT */
#include "quickbeam/recon.h"

#define ROW(name, type, meta, initial, choices, min, max, help)                                    \
    {#name, type, offsetof(qb_fdk_options, name), meta, initial, choices, min, max, help, 0}

const qb_param qb_fdk_params[] = {
    ROW(filter, QB_PARAM_TEXT, "NAME[:CUTOFF]|FILE", "ramp", NULL, 0, 0,
        "ramp, shepp-logan, cosine, hann, hamming, blackman, parzen, butterworth, none or a file; "
        "cut-off as a fraction of Nyquist"),
    ROW(pad, QB_PARAM_CHOICE, NULL, "edge", "zero|edge|mirror|taper|ellipse", 0, 0,
        "what continues a row beyond the detector; for an object wider than it, taper (fades over half the "
        "width) or ellipse (as an ellipse of the row's own curvature would)"),
    ROW(accuracy, QB_PARAM_CHOICE, NULL, "normal", "high|normal|fast", 0, 0,
        "bound on the error of back-projection: 5e-5, 1e-3 or 6e-3 of the signal"),
    ROW(kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,
        "the back-projection kernel to use, whatever the planner thinks (qb devices lists them)"),
    ROW(size, QB_PARAM_NUMBERS, "NX[,NY[,NZ]]", NULL, NULL, 1, 65536,
        "voxels of the volume; default: detector columns, columns, rows"),
    ROW(voxel, QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e6,
        "voxel in mm; default: a detector pixel as it appears at the axis"),
    ROW(offset, QB_PARAM_NUMBERS, "X,Y,Z", NULL, NULL, -1e9, 1e9,
        "where the middle of the volume lies, in mm"),
    ROW(like, QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "the same grid as this volume: size, voxel, offset"),
    ROW(slices, QB_PARAM_TEXT, "A:B[:S]", NULL, NULL, 0, 0, "only these slices of the volume"),
    {"allow-limited", QB_PARAM_FLAG, offsetof(qb_fdk_options, allow_limited), NULL, NULL, NULL, 0, 0,
     "reconstruct although more than a step, and a degree, of the angles needed is missing", 0},
    ROW(hu, QB_PARAM_DOUBLE, "MU_WATER", NULL, NULL, 0, 1e6,
        "write Hounsfield units; the attenuation of water in 1/mm"),
    ROW(resample, QB_PARAM_CHOICE, NULL, "auto", "auto|always|never", 0, 0,
        "views onto a flat, upright detector before they are filtered; auto: where it is bent, or its "
        "rows are not level by more than a pixel"),
    {0},
};
