/* SPDX-License-Identifier: MIT */
#include "job/options_rows.h"
#include "quickbeam/recon.h"

#define ROW(...) QB__ROW(qb_fdk_options, __VA_ARGS__)

const qb_param qb_fdk_params[] = {
    QB__FILTER_ROWS(qb_fdk_options),
    QB__KERNEL_ROWS(qb_fdk_options),
    QB__SIZE_ROW(qb_fdk_options),
    QB__VOXEL_ROW(qb_fdk_options),
    ROW(offset, QB_PARAM_NUMBERS, "X,Y,Z", NULL, NULL, -1e9, 1e9, "where the middle of the volume lies, in mm"),
    QB__LIKE_ROW(qb_fdk_options),
    ROW(slices, QB_PARAM_TEXT, "A:B[:S]", NULL, NULL, 0, 0, "only these slices of the volume"),
    ROW(region, QB_PARAM_TEXT, "X0:X1,Y0:Y1,Z0:Z1", NULL, NULL, 0, 0,
        "only these voxels, with the values of the whole; on the CPU"),
    {"allow-limited", QB_PARAM_FLAG, offsetof(qb_fdk_options, allow_limited), NULL, NULL, NULL, 0, 0,
     "reconstruct although more than a step, and a degree, of the angles needed is missing", 0},
    {"force", QB_PARAM_FLAG, offsetof(qb_fdk_options, force), NULL, NULL, NULL, 0, 0,
     "reconstruct although the source's path is no circle, as that of a helix", 0},
    QB__HU_ROW(qb_fdk_options),
    QB__OUTSIDE_ROWS(qb_fdk_options),
    ROW(resample, QB_PARAM_CHOICE, NULL, "auto", "auto|always|never", 0, 0,
        "resample views onto a flat, upright detector; auto: where it is curved, or its rows are not level by more "
        "than a pixel"),
    QB__ANGLE_WEIGHTS_ROW(qb_fdk_options),
    ROW(grid, QB_PARAM_TEXT, "RxC", "auto", NULL, 0, 0,
        "processes of mpirun: R rows share the slices, C columns the views; auto: all rows"),
    QB__KEEP_ROWS(qb_fdk_options),
    QB_PARAMS_END(qb_fdk_options),
};
