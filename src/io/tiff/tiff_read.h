/* SPDX-License-Identifier: MIT */
#pragma once

/* Only in a build with libtiff. */
#include <tiffio.h>

#include "io/plain/source.h"

/* Open for reading, without printing; NULL with the detail and *status set. */
TIFF *qb__tiff_handle(const char *path, qb_status *status);

/* True if the file opened last on this thread ends before its description, which may define the meaning of the
 * numbers. */
bool qb__tiff_lost_description(void);

/* Converts libtiff's QB_BAD_INPUT to a system fault if errno, which the caller had set to 0, shows one. */
qb_status qb__tiff_judge(qb_status status, const char *path);

/* One image of a stack: its position and layout. */
typedef struct qb__tiff_image {
    uint32_t file;      /* index into the list of names */
    bool swap;          /* only for `data` */
    uint64_t directory; /* offset of its IFD */
    uint64_t data;      /* offset of its first pixel if it is contiguous, else 0 */
} qb__tiff_image;

/* Properties that must agree over a stack. */
typedef struct qb__tiff_shape {
    qb_dtype dtype;
    size_t rows, columns;
    size_t piece;     /* rows of a compressed strip or tile; 1 if uncompressed */
    unsigned bits;    /* bits of a stored sample: 9 to 15 are packed, most significant bit first, and become uint16 */
    unsigned samples; /* samples per pixel, interleaved: the first of several is read */
    unsigned turned;  /* Orientation, if it is not the usual one; 0 */
    bool white;       /* 0 is said to be white */
    bool colour;      /* several samples, interleaved or in planes */
} qb__tiff_shape;

/* True if its samples are stored as its dtype, one per pixel. */
static inline bool qb__tiff_as_stored(const qb__tiff_shape *shape) {
    return shape->samples == 1 && shape->bits == 8 * qb_dtype_size(shape->dtype);
}
/* Bytes of a stored row; convert `rows` rows to samples of its dtype. */
size_t qb__tiff_row_bytes(const qb__tiff_shape *shape);
void qb__tiff_unpack(const qb__tiff_shape *shape, const unsigned char *stored, size_t rows, void *out);

/* libtiff takes a directory whose end is missing or cannot be read for the last one of the file, because the link to
 * the next follows: QB_BAD_INPUT, QB_IO. */
qb_status qb__tiff_chain(TIFF *tiff, const char *path, uint64_t file_bytes);
/* Read the current directory; everything is checked against the file's size. */
qb_status qb__tiff_look(TIFF *tiff, const char *path, uint64_t file_bytes, qb__tiff_shape *shape,
                        qb__tiff_image *image);
/* Decode rows row0 <= row < row1 of the current directory, dense. */
qb_status qb__tiff_decode(TIFF *tiff, const char *path, size_t row0, size_t row1, void *out);

/* Start of our own lines in an ImageDescription; NULL in files of other programs. */
const char *qb__tiff_ours(const char *text);
/* Voxel sizes in mm in files of other programs, if ImageJ or OME state them; per_unit: the resolution along columns and
 * rows, 0: none. */
void qb__tiff_voxel(const char *text, const float per_unit[2], double voxel[3]);
/* ImageJ's calibration: value = slope * stored + offset. */
void qb__tiff_calibration(const char *text, double *slope, double *offset);
/* What the numbers of a file mean. */
typedef struct qb__tiff_meaning {
    double slope, offset; /* ImageJ's calibration: values are slope * stored + offset */
    double missing;       /* stored number of pixels without a value; NAN: none */
    double scale[2];      /* qb__source.scale */
} qb__tiff_meaning;
/* QB_UNSUPPORTED if two files of a stack state different meanings. */
qb_status qb__tiff_agree(const qb__tiff_meaning *a, const char *name_a, const qb__tiff_meaning *b, const char *name_b);
/* Number of channels of ImageJ's and OME's stacks with several images per position. */
unsigned long qb__tiff_channels(const char *text);
