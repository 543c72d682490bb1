/* SPDX-License-Identifier: MIT */
#include "job/options_rows.h"
#include "quickbeam/recon.h"

#define ROW(...) QB__ROW(qb_fbp_options, __VA_ARGS__)

const qb_param qb_fbp_params[] = {
    ROW(center, QB_PARAM_TEXT, "auto|near:COLUMN|METHOD|middle|stated|COLUMN", NULL, NULL, 0, 0,
        "rotation axis: a column (pixel centres at integers), a finder (auto, near:COLUMN, registration, overlap, "
        "sharpness, mass), "
        "middle, or the file's (stated); A:B:STEP is --sweep center=A:B:STEP; default: as BASE.sinoparams, NAME.sim "
        "and files of qb "
        "convert state it, else auto"),
    ROW(search, QB_PARAM_TEXT, "A:B", NULL, NULL, 0, 0,
        "columns between which the axis is looked for; default: the whole width"),
    ROW(slices, QB_PARAM_TEXT, "A:B[:S]", NULL, NULL, 0, 0,
        "only these slices of the volume: detector rows, unless NZ or --like say otherwise"),
    ROW(region, QB_PARAM_TEXT, "X0:X1,Y0:Y1", NULL, NULL, 0, 0,
        "only these voxels of each slice, with the values of the whole; on the CPU"),
    QB__FILTER_ROWS(qb_fbp_options),
    ROW(interp, QB_PARAM_CHOICE, NULL, "auto", "auto|linear|nearest|oversample", 0, 0,
        "interpolation between detector columns; auto is that of --kernel, else linear; oversample "
        "on "
        "devices only (--device)"),
    QB__KERNEL_ROWS(qb_fbp_options),
    QB__SIZE_ROW(qb_fbp_options),
    ROW(voxel, QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e6, "pixel of a slice in mm; default: the detector's"),
    ROW(offset, QB_PARAM_NUMBERS, "X,Y[,Z]", NULL, NULL, -1e9, 1e9,
        "where the middle of the volume lies, in mm from the axis and the detector's middle row"),
    QB__LIKE_ROW(qb_fbp_options),
    QB__HU_ROW(qb_fbp_options),
    QB__OUTSIDE_ROWS(qb_fbp_options),
    QB__ANGLE_WEIGHTS_ROW(qb_fbp_options),
    ROW(tilt, QB_PARAM_DOUBLE, "DEGREES", NULL, NULL, -45, 45,
        "how far the detector is turned in its plane (qb center measures it); rows are resampled"),
    {"geometry", QB_PARAM_TEXT, offsetof(qb_fbp_options, geometry), "FILE", NULL, NULL, 0, 0,
     "where rays and detector are, instead of angles, --center and --tilt: quickbeam JSON, RTK XML, a 3x4 matrix "
     "per view",
     'g'},
    QB__KEEP_ROWS(qb_fbp_options),
    QB_PARAMS_END(qb_fbp_options),
};
