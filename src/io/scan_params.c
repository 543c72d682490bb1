/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "quickbeam/io.h"
#include "quickbeam/scan.h"

/* A choice is written as an int. */
static_assert(sizeof(qb_image) == sizeof(int) && sizeof(qb_quantity) == sizeof(int), "enums must be as large as int");

#define SCAN(field) offsetof(qb_scan_options, field)
#define OUTPUT(field) offsetof(qb_output_options, field)

const qb_param qb_scan_params[] = {
    {.name = "dataset",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(dataset),
     .meta = "PATH",
     .help = "the projections, or the group they are in, inside an HDF5 file"},
    {.name = "as",
     .type = QB_PARAM_CHOICE,
     .offset = SCAN(as),
     .initial = "auto",
     .choices = "auto|projections|sinogram",
     .help = "what one image of the file is: a view, or a detector row over all views (auto: a "
             "view)"},
    {.name = "quantity",
     .type = QB_PARAM_CHOICE,
     .offset = SCAN(quantity),
     .initial = "auto",
     .choices = "auto|counts|transmission|line_integral",
     .help = "what the numbers are (auto: as the file says, else counts for HDF5 and integers, "
             "line integrals for floats)"},
    {.name = "angles",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(angles),
     .meta = "FROM:TO[:N]|FILE[:COLUMN][:A:B[:S]]|FILE.h5:/PATH[:A:B[:S]]",
     .help = "angles in degrees: N from FROM on, TO not included; or a column (from 1) of a text "
             "file and its lines A to B (from 0, headers not counted, B not included) in steps of "
             "S: FILE:2 is a column, FILE:10:101 are lines, FILE:2:0:641:2 both; or a dataset of an HDF5 "
             "file"},
    {.name = "flats",
     .type = QB_PARAM_LIST,
     .offset = SCAN(flats),
     .meta = "FILE[:/PATH]|FOLDER|PATTERN",
     .help = "flat fields (open beam); their mean is used. /PATH is a dataset or group of an HDF5 file; given several "
             "times, the files are joined"},
    {.name = "darks",
     .type = QB_PARAM_LIST,
     .offset = SCAN(darks),
     .meta = "FILE[:/PATH]|FOLDER|PATTERN|none",
     .help = "dark fields (no beam), likewise; none: the dark is 0, also where the scan has some"},
    {.name = "pixel-size",
     .type = QB_PARAM_NUMBERS,
     .offset = SCAN(pixels),
     .meta = "U[,V]",
     .min = 0.0,
     .max = 1e6,
     .help = "pitch of the detector's columns in mm, and of its rows where that is another (0: as the file says)"},
    {.name = "views",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(views),
     .meta = "A:B[:S]",
     .help = "only views A to B, B not included, in steps of S, and the same of a geometry file "
             "that has all of the scan's; negative numbers count from the end"},
    {.name = "shape",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(shape),
     .meta = "VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET]",
     .help = "what a raw file holds, and how many bytes come before it; DTYPE as in uint16, with "
             "big behind it for the other byte order"},
    {.name = "angle-unit",
     .type = QB_PARAM_CHOICE,
     .offset = SCAN(angle_unit),
     .initial = "auto",
     .choices = "auto|deg|rad",
     .help = "of --angles, or of the scan's own, whatever that says (auto: as a file's header or "
             "attribute says, else degrees; a file that could be either, and a unit that is not known, are refused, "
             "FROM:TO is warned of)"},
    {.name = "exclude",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(exclude),
     .meta = "LIST",
     .help = "leave out these views: numbers and ranges A:B[:S] with commas between, counted as by --views, B not "
             "included; "
             "141:227,300"},
    {.name = "exclude-flats",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(exclude_flats),
     .meta = "LIST",
     .help = "leave out these flat fields, in the same way"},
    {.name = "exclude-darks",
     .type = QB_PARAM_TEXT,
     .offset = SCAN(exclude_darks),
     .meta = "LIST",
     .help = "leave out these dark fields, in the same way"},
    {.name = "keep-all-views",
     .type = QB_PARAM_FLAG,
     .offset = SCAN(keep_all_views),
     .help = "keep views that have no beam, no numbers or one value everywhere; they are named all the same"},
    {.name = "keep-all-fields",
     .type = QB_PARAM_FLAG,
     .offset = SCAN(keep_all_fields),
     .help = "take the plain mean of all flat and dark fields, also of those that cannot be right"},
    {.name = "unsigned",
     .type = QB_PARAM_FLAG,
     .offset = SCAN(read_unsigned),
     .help = "the integers of the scan and its fields are unsigned, though the file says that they are signed: counts "
             "above 32767 that were stored as int16"},
    QB_PARAMS_END(qb_scan_options),
};

const qb_param qb_output_params[] = {
    {.name = "output",
     .type = QB_PARAM_TEXT,
     .offset = OUTPUT(output),
     .meta = "FILE",
     .letter = 'o',
     .help = "where the result goes: .h5, .mha, .npy, .raw, .tif, name_%05d.tif or a folder"},
    {.name = "dtype",
     .type = QB_PARAM_DTYPE,
     .offset = OUTPUT(dtype),
     .initial = "float32",
     .choices = "float32|float16|uint16|uint8",
     .help = "type of the numbers in the output"},
    {.name = "range",
     .type = QB_PARAM_NUMBERS,
     .offset = OUTPUT(range),
     .meta = "LO,HI",
     .help = "the values that become 0 and the maximum of an integer type; else, of fbp and fdk, those that the middle "
             "slice has, but for 1 in 10,000 at either end"},
    {.name = "preview",
     .type = QB_PARAM_TEXT,
     .offset = OUTPUT(preview),
     .meta = "FILE.png",
     .help = "a picture of the three slices through the middle (of fewer than 16 images: of the middle one)"},
    {.name = "window",
     .type = QB_PARAM_TEXT,
     .offset = OUTPUT(window),
     .meta = "LO,HI|auto",
     .initial = "auto",
     .help = "the values that are black and white in pictures (--preview, the sheet of a sweep; of no effect without); "
             "auto: 0.5 and 99.5 percentiles"},
    {.name = "parts",
     .type = QB_PARAM_TEXT,
     .offset = OUTPUT(parts),
     .meta = "N|auto",
     .initial = "auto",
     .help = "HDF5: one volume over N files beside it (OUT.h5.parts), which are written at once; auto: one file below "
             "8 GB"},
    QB_PARAMS_END(qb_output_options),
};

const char *qb_quantity_name(qb_quantity quantity) {
    static const char *const names[] = {"auto", "counts", "transmission", "line_integral"};
    return (unsigned)quantity < sizeof names / sizeof names[0] ? names[quantity] : "unknown";
}
