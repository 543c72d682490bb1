/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "quickbeam/io.h"
#include "quickbeam/scan.h"

/* The parameter tables write a choice as an int. */
static_assert(sizeof(qb_image) == sizeof(int) && sizeof(qb_quantity) == sizeof(int) &&
                  sizeof(qb_flat_fields) == sizeof(int) && sizeof(qb_field_average) == sizeof(int) &&
                  sizeof(qb_range_of) == sizeof(int) && sizeof(qb_flip) == sizeof(int) &&
                  sizeof(qb_rotate) == sizeof(int),
              "enums must be as large as int");

#define SCAN(id, kind, field, ...)                                                                                     \
    { .name = id, .type = QB_PARAM_##kind, .offset = offsetof(qb_scan_options, field), __VA_ARGS__ }
#define OUTPUT(id, kind, field, ...)                                                                                   \
    { .name = id, .type = QB_PARAM_##kind, .offset = offsetof(qb_output_options, field), __VA_ARGS__ }

const qb_param qb_scan_params[] = {
    SCAN("dataset", TEXT, dataset, .meta = "PATH",
         .help = "the projections, or the group they are in, inside an HDF5 or MATLAB file"),
    SCAN("as", CHOICE, as, .initial = "auto", .choices = "auto|projections|sinogram",
         .help = "what one image of the file is: a view, or a detector row over all views (auto: a view)"),
    SCAN("quantity", CHOICE, quantity, .initial = "auto", .choices = "auto|counts|transmission|line_integral",
         .help = "what the numbers are (auto: as the file says, else counts for HDF5 and integers, line integrals for "
                 "floats)"),
    SCAN("angles", TEXT, angles, .meta = "FROM:TO[:N]|FILE[:COLUMN][:A:B[:S]]|FILE.h5:/PATH[:A:B[:S]]",
         .help = "angles in degrees: N from FROM on, TO not included; or column COLUMN (from 1) and lines A to B - 1 "
                 "(from 0, without headers) in steps of S of a text file: FILE:2, FILE:10:101, FILE:2:0:641:2; or a "
                 "dataset of an HDF5 or MATLAB file"),
    SCAN("flats", LIST, flats, .meta = "FILE[:/PATH]|FOLDER|PATTERN",
         .help = "flat fields (open beam), averaged; /PATH is a dataset or group of an HDF5 file; may be given several "
                 "times"),
    SCAN("darks", LIST, darks, .meta = "FILE[:/PATH]|FOLDER|PATTERN|none",
         .help = "dark fields (no beam), likewise; none: the dark is 0"),
    SCAN("flat-fields", CHOICE, flat_fields, .initial = "auto", .choices = "auto|mean|linear|nearest|pca",
         .help = "flats of several times: their mean, a line between the series before and behind a view, the nearer "
                 "one, or their principal components (auto: linear where the times are known)"),
    SCAN("flats-at", TEXT, flats_at, .meta = "VIEW,...",
         .help = "the views before which series of flats were taken: of equal length, or one of each file"),
    SCAN("average-fields", CHOICE, average_fields, .initial = "robust", .choices = "robust|mean|median",
         .help = "flats and darks of one time: their mean without single values far from all others of their pixel "
                 "(robust), their plain mean, or their median"),
    SCAN("pixel-size", NUMBERS, pixels, .meta = "U[,V]", .min = 0.0, .max = 1e6,
         .help = "pitch of the detector's columns in mm, and of its rows where that is another (0: as the file says)"),
    SCAN("views", TEXT, views, .meta = "A:B[:S]",
         .help =
             "only views A to B - 1, in steps of S, also of the geometry file; negative numbers count from the end"),
    SCAN("shape", TEXT, shape, .meta = "VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET]",
         .help = "what a raw file holds, and the bytes before it; DTYPE such as uint16, or uint16big"),
    SCAN("angle-unit", CHOICE, angle_unit, .initial = "auto", .choices = "auto|deg|rad",
         .help = "unit of --angles or of the scan's own (auto: as the file says, else degrees; a file that could be "
                 "either is refused)"),
    SCAN("exclude", TEXT, exclude, .meta = "LIST",
         .help = "leave out these views: numbers and ranges A:B[:S] as in --views, such as 141:227,300"),
    SCAN("exclude-flats", TEXT, exclude_flats, .meta = "LIST", .help = "leave out these flat fields, in the same way"),
    SCAN("exclude-darks", TEXT, exclude_darks, .meta = "LIST", .help = "leave out these dark fields, in the same way"),
    SCAN("keep-all-views", FLAG, keep_all_views, .help = "keep views without beam, without numbers or of one value"),
    SCAN("keep-all-fields", FLAG, keep_all_fields,
         .help = "keep flats and darks that differ far from the others; their plain mean unless a median is asked for"),
    SCAN("mask", TEXT, mask, .meta = "FILE[:/PATH]|none",
         .help = "image of the detector: pixels that are not 0 are not measured; added to the scan's own mask, which "
                 "none leaves out"),
    SCAN("unsigned", FLAG, read_unsigned,
         .help =
             "the integers are unsigned, though the file says signed: counts above 32767 that were stored as int16"),
    SCAN("rotate", CHOICE, rotate, .initial = "0", .choices = "0|90|180|270",
         .help = "turn all images clockwise by so many degrees, row 0 on top"),
    SCAN("flip", CHOICE, flip, .initial = "none", .choices = "none|u|v|uv",
         .help = "then read columns (u), rows (v) or both in reverse"),
    SCAN("crop", TEXT, crop, .meta = "C0:C1[,R0:R1]",
         .help = "then only columns C0 to C1 - 1 and rows R0 to R1 - 1 of the detector; geometry follows"),
    SCAN("bin", TEXT, bin, .meta = "N|NUxNV",
         .help = "then put so many columns and rows into one pixel: counts are added before -log, else averaged"),
    SCAN("distortion", TEXT, distortion, .meta = "FILE",
         .help = "take out lens distortion by discorpy's file of centre and backward factors, in stored pixels"),
    SCAN("shifts", TEXT, shifts, .meta = "FILE|motors:U[,V[,TURN]]",
         .help = "take out movements: lines U V [TURN], one a stored view, unbinned columns and rows by which its "
                 "image lies too far on, and degrees by which it is turned about the middle, columns towards rows; or "
                 "an NXtomo's own, of the sample's axes (motors:x,-z)"),
    SCAN("follow", TEXT, follow, .meta = "SECONDS[:VIEWS|:FILE]",
         .help = "wait while views are being written, until all are there: as many as VIEWS, the angles or the "
                 "geometry file, or until FILE exists; fail when none comes for SECONDS"),
    SCAN("angles-from-names", TEXT, angles_from_names, .meta = "PATTERN",
         .help = "angles in degrees in the names of the files, one view each: {} is the angle, * anything, as in "
                 "'GR_{}_*.tif'"),
    SCAN("transpose", TEXT, transpose, .meta = "AXES",
         .help = "the file's axes, the slowest first, where these are others than views,rows,columns: "
                 "columns,rows,views of MATLAB's (view, row, column)"),
    QB_PARAMS_END(qb_scan_options),
};

const qb_param qb_output_params[] = {
    OUTPUT("output", TEXT, output, .meta = "FILE", .letter = 'o',
           .help = "where the result goes: .h5, .zarr, .mha, .npy, .nrrd, .raw, .tif, name_%05d.tif or a folder"),
    OUTPUT("dtype", DTYPE, dtype, .initial = "float32", .choices = "float32|float16|uint16|uint8",
           .help = "type of the numbers in the output"),
    OUTPUT("range", NUMBERS, range, .meta = "LO,HI",
           .help =
               "values that become 0 and the maximum of an integer type; default of fbp and fdk: of the middle slice"),
    OUTPUT("range-of", CHOICE, range_of, .initial = "slice", .choices = "slice|volume",
           .help = "that default: of the middle slice, or of the volume, by doing the job twice"),
    OUTPUT("preview", TEXT, preview, .meta = "FILE.png",
           .help = "a picture of the three slices through the middle (below 16 images: the middle one)"),
    OUTPUT("window", TEXT, window, .meta = "LO,HI|auto", .initial = "auto",
           .help = "values that are black and white in pictures; auto: 0.5 and 99.5 percentiles"),
    OUTPUT("parts", TEXT, parts, .meta = "N|auto", .initial = "auto",
           .help = "HDF5: one volume in N files (OUT.h5.parts), written at once; auto: one file below 8 GB"),
    OUTPUT("clip", NUMBERS, clip, .meta = "LO,HI", .help = "the least and the largest value written"),
    OUTPUT("denoise", TEXT, denoise, .meta = "gaussian:SIGMA|median:N|none",
           .help = "filter each slice; SIGMA and N in voxels"),
    OUTPUT("compress", TEXT, compress, .meta = "none|gzip|zstd|blosc|bitshuffle|lz4",
           .help = "HDF5 and Zarr: compress chunks, by all threads (lz4: HDF5 only); .mha and .nrrd: gzip"),
    OUTPUT("zarr", CHOICE, zarr, .initial = "0.5", .choices = "0.5|0.4",
           .help = "version of OME-Zarr, which is Zarr 3 with shards, or Zarr 2"),
    QB_PARAMS_END(qb_output_options),
};

const char *qb_quantity_name(qb_quantity quantity) {
    static const char *const names[] = {"auto", "counts", "transmission", "line_integral"};
    return (unsigned)quantity < sizeof names / sizeof names[0] ? names[quantity] : "unknown";
}
