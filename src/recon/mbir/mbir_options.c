/* SPDX-License-Identifier: MIT */
#include "job/options_rows.h"
#include "quickbeam/recon.h"

static_assert(sizeof(qb_mbir_matrix) == sizeof(int), "enums must be as large as int");

#define ROW(...) QB__ROW(qb_mbir_options, __VA_ARGS__)
#define NAMED(name, field, kind, meta, initial, choices, min, max, help)                                               \
    { name, kind, offsetof(qb_mbir_options, field), meta, initial, choices, min, max, help, 0 }

/* clang-format off */
const qb_param qb_mbir_params[] = {
    ROW(sharpness, QB_PARAM_DOUBLE, "X", "0", NULL, -20, 20,
        "sharper above 0, smoother below: sigma_x is 0.2 * 2^X of a typical attenuation"),
    NAMED("snr-db", snr_db, QB_PARAM_DOUBLE, "DB|auto", "auto", "auto", -100, 200,
        "the data's signal-to-noise ratio in dB, for sigma_y: less smooths more; auto: from the noise and the number of views"),
    NAMED("sigma-x", sigma_x, QB_PARAM_DOUBLE, "X", NULL, NULL, 0, 1e6,
        "scale of the prior in 1/mm, instead of --sharpness; 0: by that"),
    NAMED("sigma-y", sigma_y, QB_PARAM_DOUBLE, "X", NULL, NULL, 0, 1e6,
        "noise of a line integral of weight 1, instead of --snr-db; 0: by that"),
    ROW(p, QB_PARAM_DOUBLE, "P", "1.2", NULL, 1, 2, "power of large differences in the prior: near 1 keeps edges"),
    ROW(q, QB_PARAM_DOUBLE, "Q", "2", NULL, 1, 2, "power of small differences, not below P"),
    NAMED("threshold", t, QB_PARAM_DOUBLE, "T", "1", NULL, 1e-6, 1e6,
        "where small differences end, in units of sigma_x"),
    ROW(neighbours, QB_PARAM_NUMBERS, "NEAREST,DIAGONAL,INTERSLICE[,EDGE,CORNER]", NULL, NULL, 0, 1e6,
        "weights of 4, 4 and 2 neighbours in the prior [1,0.7071,1]; INTERSLICE 0: slices on their own, in slabs. Of a cone also of 8 and 8 in the slices before and after, across an edge and a corner [1,0.5,1,0.5,0]"),
    ROW(weights, QB_PARAM_TEXT, "RULE|FILE", "unweighted", NULL, 0, 0,
        "what a ray counts for: unweighted, transmission (exp(-y)), transmission_root (exp(-y/2)), emission (1/(|y|+0.1)), or a file of the scan's shape; unmeasured pixels count for nothing"),
    NAMED("positivity", no_positivity, QB_PARAM_FLAG, NULL, "true", NULL, 0, 0, "no attenuation below zero"),
    ROW(start, QB_PARAM_TEXT, "fbp|prox|VALUE|FILE", "fbp", NULL, 0, 0,
        "begin with filtered back-projection (of a cone by qb fdk), the image of --prox, VALUE in 1/mm everywhere, or a volume in 1/mm"),
    ROW(equits, QB_PARAM_INT, "N", "40", NULL, 1, 100000,
        "after about so many at the latest; an equit is as many updates as there are voxels, of a cone a pass through all views"),
    ROW(stop, QB_PARAM_DOUBLE, "PERCENT", "0.2", NULL, 0, 100,
        "stop once voxels change by less than this share of their mean, and the cost is forecast to fall by less; 0: never"),
    NAMED("zero-skip", no_zero_skip, QB_PARAM_FLAG, NULL, "true", NULL, 0, 0,
        "leave out voxels that are zero among zeros, in two turns of three"),
    ROW(matrix, QB_PARAM_CHOICE, NULL, "auto", "auto|fly|bytes|floats", 0, 0,
        "the system matrix: computed as it goes, or kept in 8 or 32 bits an entry; auto: floats where that saves a tenth of the time, else fly (the same bits). With auto or fly, up to 8 independent slices descend one by one on all threads"),
    ROW(center, QB_PARAM_TEXT, "COLUMN|auto|near:COLUMN|middle|stated|METHOD", NULL, NULL, 0, 0,
        "the rotation axis, as in qb fbp"),
    ROW(slices, QB_PARAM_TEXT, "A:B", NULL, NULL, 0, 0, "slices, that is detector rows, A to B - 1; not of a cone"),
    ROW(size, QB_PARAM_NUMBERS, "NX[,NY[,NZ]]", NULL, NULL, 1, 32768,
        "voxels of a slice, and slices of a cone; default: detector columns, with the axis to one side as wide as a full turn sees. All that is measured should lie within"),
    ROW(voxel, QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e6, "voxel in x and y, of a cone in z too; default: the pixel size, as it appears at the axis"),
    ROW(roi, QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e9,
        "voxels farther than this from the middle stay zero; default: half the longer side"),
    QB__HU_ROW(qb_mbir_options),
    ROW(seed, QB_PARAM_INT, "N", "0", NULL, 0, 0x7fffffff, "of the order in which voxels are updated"),
    ROW(kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,
        "the kernel to use, whatever the planner thinks (qb devices lists them)"),
    ROW(resume, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0,
        "go on from OUT.checkpoint of a run that was killed, to the same result"),
    ROW(checkpoint, QB_PARAM_DOUBLE, "SECONDS", "300", NULL, 0, 1e9,
        "keep the state in OUT.checkpoint so often; 0: never"),
    NAMED("matrix-cache", matrix_cache, QB_PARAM_TEXT, "DIR", NULL, NULL, 0, 0,
          "read a kept system matrix of the same geometry from DIR, or leave it there"),
    ROW(prox, QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "proximal map of the data term at this volume (1/mm, of the output's shape): (x - FILE)^2 / (2 sigma_p^2) instead of the prior and its options"),
    NAMED("sigma-p", sigma_p, QB_PARAM_DOUBLE, "X", NULL, NULL, 0, 1e6,
        "how far --prox may lead from its volume, in 1/mm; default, and 0: 2 * 2^sharpness of a typical attenuation"),
    ROW(coarse, QB_PARAM_INT, "N|auto", "auto", "auto", 0, 4,
        "begin on voxels of 2^N times the side, then halve it; auto: where views are few, or cover a part of the half turn"),
    ROW(reference, QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "report after each sweep the rmse to this volume (1/mm, or HU with --hu; of the output's shape)"),
    ROW(deterministic, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0,
        "the same bits each time, as all kernels but icd_supervoxel.global give them: refuses that one"),
    QB_PARAMS_END(qb_mbir_options),
};
/* clang-format on */
