/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_TIFF_READ_H
#define QB_IO_TIFF_READ_H

/* Inside a build with libtiff only. */
#include <tiffio.h>

#include "io/plain/source.h"

/* Open to read, silent; NULL with the detail set and *status said. */
TIFF *qb__tiff_handle(const char *path, qb_status *status);

/* Does the file opened last on this thread end before its description, which may say what the numbers are? */
bool qb__tiff_lost_description(void);

/* What is QB_BAD_INPUT by libtiff's word may be the system's fault by errno, which the caller had set to 0. */
qb_status qb__tiff_judge(qb_status status, const char *path);

/* One image of a stack: where it is and how it lies there. */
typedef struct qb__tiff_image {
    uint32_t file;      /* index into the list of names */
    bool swap;          /* only for `data` */
    uint64_t directory; /* offset of its IFD */
    uint64_t data;      /* offset of its first pixel when all lie in one piece, else 0 */
} qb__tiff_image;

/* What must agree over a stack. */
typedef struct qb__tiff_shape {
    qb_dtype dtype;
    size_t rows, columns;
    size_t piece;     /* rows of a compressed strip or tile; 1 when uncompressed */
    unsigned bits;    /* of a stored sample: 9 to 15 are packed, most significant bit first, and become uint16 */
    unsigned samples; /* side by side for each pixel: the first of several is read */
    bool colour;      /* there are several, side by side or not */
} qb__tiff_shape;

/* Are its samples what its dtype is, one a pixel? */
static inline bool qb__tiff_as_stored(const qb__tiff_shape *shape) {
    return shape->samples == 1 && shape->bits == 8 * qb_dtype_size(shape->dtype);
}
/* Bytes of a row as it is stored; samples of `rows` rows of it, as its dtype has them. */
size_t qb__tiff_row_bytes(const qb__tiff_shape *shape);
void qb__tiff_unpack(const qb__tiff_shape *shape, const unsigned char *stored, size_t rows, void *out);

/* libtiff takes a directory whose end is cut off, or cannot be read, for the last of the file, as the way to
 * the next one lies there: QB_BAD_INPUT, QB_IO. */
qb_status qb__tiff_chain(TIFF *tiff, const char *path, uint64_t file_bytes);
/* Look at the current directory; everything is checked against the file's size. */
qb_status qb__tiff_look(TIFF *tiff, const char *path, uint64_t file_bytes, qb__tiff_shape *shape,
                        qb__tiff_image *image);
/* Decode rows row0 <= row < row1 of the current directory, dense. */
qb_status qb__tiff_decode(TIFF *tiff, const char *path, size_t row0, size_t row1, void *out);

/* Of an ImageDescription: where our own lines begin, NULL in files of others. */
const char *qb__tiff_ours(const char *text);
/* Of others', the sides of voxels in mm, where ImageJ or OME state them; per_unit: the resolution along columns and rows, 0: none. */
void qb__tiff_voxel(const char *text, const float per_unit[2], double voxel[3]);
/* ImageJ's: the numbers are slope * stored + offset. */
void qb__tiff_calibration(const char *text, double *slope, double *offset);
/* ImageJ's and OME's: channels of a stack that has several images of each. */
unsigned long qb__tiff_channels(const char *text);

#endif
