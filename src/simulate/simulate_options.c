/* SPDX-License-Identifier: MIT */
#include "quickbeam/simulate.h"

#define ROW(field, name, type, meta, initial, choices, min, max, help, letter)                                         \
    { name, type, offsetof(qb_simulate_options, field), meta, initial, choices, min, max, help, letter }

const qb_param qb_simulate_params[] = {
    ROW(geometry, "geometry", QB_PARAM_TEXT, "parallel|cone|FILE", "parallel", NULL, 0, 0,
        "shape of the beam, or a file that says where source and detector are", 'g'),
    ROW(detector, "detector", QB_PARAM_NUMBERS, "COLUMNS[,ROWS]", NULL, NULL, 1, 1048576,
        "pixels of the detector; default: the first and last of --size, else 256,256", 0),
    ROW(views, "views", QB_PARAM_INT, "N", NULL, NULL, 0, 16777216,
        "number of projections; default: as many as --angles has, else pi/2 times the columns", 0),
    ROW(angles, "angles", QB_PARAM_TEXT, "FROM:TO[:N]|FILE", NULL, NULL, 0, 0,
        "degrees, TO exclusive; default: 0:180 parallel, 0:360 cone", 0),
    ROW(size, "size", QB_PARAM_NUMBERS, "NX[,NY[,NZ]]", NULL, NULL, 1, 65536,
        "voxels of the box that the phantom fills, and of --truth; default: columns, columns, rows", 0),
    ROW(pixels, "pixel-size", QB_PARAM_NUMBERS, "U[,V]", NULL, NULL, 0, 1e6,
        "of the detector, in mm, along its rows and, where that is another, its columns; default: such that its "
        "columns see 256 mm at the axis",
        0),
    ROW(sod, "sod", QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e9, "cone: from the source to the axis, in mm", 0),
    ROW(sdd, "sdd", QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e9, "cone: from the source to the detector, in mm", 0),
    ROW(offset, "detector-offset", QB_PARAM_TEXT, "U,V[px]", NULL, NULL, 0, 0,
        "cone: where the detector's centre lies relative to the principal ray, in mm or px", 0),
    ROW(radius, "detector-radius", QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e9,
        "cone: radius of a cylindrical detector in mm; 0 = flat", 0),
    ROW(tilt, "tilt", QB_PARAM_NUMBERS, "IN,OUT,SLANT", NULL, NULL, -180, 180,
        "cone: the detector's in-plane, out-of-plane and slant angles in degrees", 0),
    ROW(jitter, "jitter", QB_PARAM_NUMBERS, "U,V,N,PHASE", NULL, NULL, -1e6, 1e6,
        "cone: sinusoidal shift of the detector: amplitudes in mm, periods a turn, phase in "
        "degrees",
        0),
    ROW(attenuation, "attenuation", QB_PARAM_DOUBLE, "MU", "0.02", NULL, 0, 1e6,
        "what the phantom's value 1.0 stands for, in 1/mm", 0),
    ROW(photons, "photons", QB_PARAM_DOUBLE, "N", NULL, NULL, 0, 1e12,
        "photons per pixel in the flats: write counts with their noise, flats and darks; "
        "0 = noiseless transmission",
        0),
    ROW(rings, "rings", QB_PARAM_DOUBLE, "SPREAD", NULL, NULL, 0, 1,
        "relative gain error of one column in ten, which the flats do not see", 0),
    ROW(center_offset, "center-offset", QB_PARAM_DOUBLE, "PIXELS", NULL, NULL, -1e6, 1e6,
        "where the axis falls, from the detector's middle column (COLUMNS - 1) / 2", 0),
    ROW(flat_series, "flat-series", QB_PARAM_INT, "N", NULL, NULL, 0, 1000,
        "series of 20 flats, from before to behind the views; default: 1", 0),
    ROW(seed, "seed", QB_PARAM_INT, "N", NULL, NULL, 0, 0,
        "of noise, faults, foam and baggage; the same seed gives the same files", 0),
    ROW(truth, "truth", QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "write the phantom's voxels too (1/mm, means over 3x3x3 points)", 0),
    ROW(geometry_out, "geometry-out", QB_PARAM_TEXT, "FILE", NULL, NULL, 0, 0,
        "write the geometry too: .json, .xml (RTK's), .txt or .csv (matrices)", 0),
    ROW(output, "output", QB_PARAM_TEXT, "OUT", NULL, NULL, 0, 0,
        "the scan; its kind follows from the name: .sim holds no numbers, views of it are computed when they are read",
        'o'),
    ROW(voxel, "voxel", QB_PARAM_DOUBLE, "MM", NULL, NULL, 0, 1e6,
        "voxel of the box in mm; default: a detector pixel as it appears at the axis", 0),
    ROW(faults, "faults", QB_PARAM_TEXT, "KIND=VALUE,...", NULL, NULL, 0, 0,
        "gain errors of columns (wide, partial, drifting), numbers of columns (dead, flicker), "
        "changes of the beam until the last view (tilt, fade, move: pixels), stripes in it (sway: pixels), scatter "
        "(share of the beam, even or smooth), distortion (at the corners), collimator (columns at both ends), zingers "
        "(share of pixels), blank (share of views), phase (fringes of a length in pixels), shifts (a file of "
        "movements, U V [TURN] a view)",
        0),
    ROW(spectrum, "spectrum", QB_PARAM_TEXT, "MATERIAL[+DENSE],KV[,FILTER:MM,at:KEV]", NULL, NULL, 0, 0,
        "a phantom of that material (water, pmma, bone, c, al, ti, fe, cu, sn) under a tube's whole spectrum; its "
        "values "
        "are those of an energy (at:60), or of thin layers; +DENSE: the inserts' material",
        0),
    QB_PARAMS_END(qb_simulate_options),
};
