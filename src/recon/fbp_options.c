/* SPDX-License-Identifier: MIT */
#include "quickbeam/recon.h"

#define ROW(name, type, meta, initial, choices, min, max, help)                                    \
    {#name, type, offsetof(qb_fbp_options, name), meta, initial, choices, min, max, help, 0}

const qb_param qb_fbp_params[] = {
    ROW(center, QB_PARAM_TEXT, "auto|METHOD|COLUMN|A:B:STEP", "auto", NULL, 0, 0,
        "rotation axis: a column (pixel centres at integers), a way to find it (auto, registration, "
        "sharpness), or a sweep of one slice"),
    ROW(slices, QB_PARAM_TEXT, "A:B[:S]", NULL, NULL, 0, 0,
        "only these slices of the volume: detector rows, unless NZ or --like say otherwise"),
    ROW(filter, QB_PARAM_TEXT, "NAME[:CUTOFF]|FILE", "ramp", NULL, 0, 0,
        "ramp, shepp-logan, cosine, hann, hamming, blackman, parzen, butterworth, none or a file; "
        "cut-off as a fraction of Nyquist"),
    ROW(pad, QB_PARAM_CHOICE, NULL, "edge", "zero|edge|mirror|taper|ellipse", 0, 0,
        "what continues a row beyond the detector; for an object wider than it, taper (fades over half the "
        "width) or ellipse (as an ellipse of the row's own curvature would)"),
    ROW(interp, QB_PARAM_CHOICE, NULL, "linear", "linear|nearest|oversample", 0, 0,
        "interpolation between detector columns"),
    ROW(accuracy, QB_PARAM_CHOICE, NULL, "normal", "high|normal|fast", 0, 0,
        "bound on the error of back-projection: 5e-5, 1e-3 or 6e-3 of the signal"),
    ROW(kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,
        "the back-projection kernel to use, whatever the planner thinks (qb devices lists them)"),
    ROW(size, QB_PARAM_NUMBERS, "NX[,NY[,NZ]]", NULL, NULL, 1, 65536,
        "voxels of the volume; default: detector columns, columns, rows"),
    ROW(voxel, QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e6,
        "pixel of a slice in mm; default: the detector's"),
    ROW(offset, QB_PARAM_NUMBERS, "X,Y[,Z]", NULL, NULL, -1e9, 1e9,
        "where the middle of the volume lies, in mm from the axis and the detector's middle row"),
    ROW(like, QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "the same grid as this volume: size, voxel, offset"),
    ROW(hu, QB_PARAM_DOUBLE, "MU_WATER", NULL, NULL, 0, 1e6,
        "write Hounsfield units; the attenuation of water in 1/mm"),
    {0},
};
