/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_IO_H
#define QUICKBEAM_IO_H

#include "quickbeam/array.h"
#include "quickbeam/env.h"
#include "quickbeam/param.h"
#include "quickbeam/scan.h"
#include "quickbeam/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Load a whole file as one array [z][y][x] or [view][row][column] in its own dtype: HDF5 (`dataset` NULL =
 * /exchange/data or the only 3-D one), TIFF file, folder or pattern, MHA, NPY and the other formats that `qb devices`
 * lists. Release it with qb_array_destroy. voxel[3] in mm (x, y, z), 0 if the file does not state it; may be NULL.
 * QB_NOT_FOUND, QB_IO, QB_BAD_INPUT, QB_UNSUPPORTED, QB_NO_MEMORY. */
QB_API qb_status qb_array_load(const char *path, const char *dataset, qb_array *array, double voxel[3]);

/* The same, but integers that stand for a range (files written with --range) become float32 values in that range;
 * others keep their type. */
QB_API qb_status qb_array_load_values(const char *path, const char *dataset, qb_array *array, double voxel[3]);

/* Description of the array in a file. */
typedef struct qb_array_info {
    size_t struct_size; /* sizeof(qb_array_info); 0 = first version. New fields come at the end */
    const char *format; /* "NPY" */
    qb_dtype dtype;
    size_t shape[3];              /* slowest first */
    double voxel[3], offset[3];   /* mm along x, y, z: voxel size, position of the centre; 0 = not stated */
    double scale[2];              /* values of the integers 0 and maximum; equal = no scale */
    char quantity[24], units[24]; /* "attenuation", "1/mm"; "" = not stated */
    char trouble[160];            /* what is odd about the file; "" = nothing */
} qb_array_info;

/* Describe a file of qb_array_load, with its errors; reads no values. */
QB_API qb_status qb_array_describe(const char *path, const char *dataset, qb_array_info *info);

/* A stack of images in a file, of which any part can be read: a volume [z][y][x], or projections [view][row][column].
 * The same files as qb_array_load, and its errors. */
typedef struct qb_volume qb_volume;
QB_API qb_status qb_volume_open(const char *path, const char *dataset, qb_volume **volume);
/* The info belongs to the volume. */
QB_API const qb_array_info *qb_volume_info(const qb_volume *volume);
/* Read values, as qb_array_load_values gives them, into out[count[0]][count[1]][count[2]] in host memory: along each
 * index (slowest first) the elements first, first + step, ..., `count` of them. Any number of threads may call it at
 * once. QB_BAD_ARGUMENT beyond the end. */
QB_API qb_status qb_volume_read(qb_volume *volume, const size_t first[3], const size_t count[3], const size_t step[3],
                                float *out);
QB_API void qb_volume_close(qb_volume *volume); /* NULL-safe */

/* Provenance of a file that quickbeam wrote, a JSON object with version, command, input and plan; NULL if the file has
 * none. Release with qb_text_free. */
QB_API qb_status qb_provenance_load(const char *path, char **json);

/* Version of OME-Zarr: 0.5 is Zarr 3 with shards, 0.4 is Zarr 2. */
typedef enum qb_zarr { QB_ZARR_0_5, QB_ZARR_0_4 } qb_zarr;

/* Description of the data to be written: a volume [z][y][x], or projections [view][row][column] with flats and
 * darks. */
typedef struct qb_stack {
    qb_dtype dtype;
    size_t shape[3];
    double voxel[3];              /* mm along x, y, z (projections: column, row); 0 = unknown */
    double offset[3];             /* mm: world position of the volume's centre */
    const char *units;            /* "1/mm", "1/pixel", "HU", "counts", "" */
    const char *quantity;         /* "attenuation", or a qb_quantity_name */
    double scale_low, scale_high; /* integer dtypes: values of 0 and of the largest integer */
    size_t first;                 /* number of the first image in file names and metadata */
    const char *description;      /* one line */
    /* projections only */
    qb_beam beam;                  /* QB_BEAM_UNKNOWN: not stated */
    const double *angles;          /* [shape[0]] radians, or NULL */
    const qb_array *flats, *darks; /* same dtype, [n][row][column], or NULL */
    /* HDF5 only: number of files in the folder NAME.h5.parts that threads write in parallel; NAME.h5 is a virtual
     * dataset of them. 0 and 1 = one file, NAME.h5. */
    size_t parts;
    double axis; /* parallel beam: column of the axis minus the middle column; NAN = unknown */
    /* HDF5: the axis is stored (attribute rotation_axis_column of the images), and readers use it. */
    bool axis_stated;
    const double *flat_views; /* HDF5: [flats->shape[0]] the view before which each flat was taken; NULL = not stated */
    /* Zarr: none, gzip, zstd, blosc or bitshuffle; NULL: none */
    const char *compress;
    qb_zarr zarr;
    /* Volumes: z points down, because the detector's rows count downwards; x, y and z are then left-handed. MetaImage,
     * NIfTI and NRRD state it as an axis that points the other way. */
    bool z_down;
    /* HDF5, projections: [shape[1]][shape[2]] not 0 (enum qb_pixel) for pixels that were not measured, as pixel_mask; NULL =
     * none. Needed only until qb_writer_create() returns. */
    const unsigned char *mask;
} qb_stack;

/* A file that is written under a temporary name; it gets its name only by qb_writer_commit. */
typedef struct qb_writer qb_writer;

/* The kind follows from the name: .h5 .hdf5 .nxs .mha .npy .raw, a folder (ends in / or exists) or
 * name_%05d.tif = TIFF stack, .tif = one multi-page TIFF. Checks that there is room on the disk. */
QB_API qb_status qb_writer_create(const char *path, const qb_stack *stack, qb_writer **writer);
/* Write images first..end-1 of the stack, dense, in the stack's dtype. Slabs may come in any order, from one thread at
 * a time, each image once. */
QB_API qb_status qb_writer_write(qb_writer *writer, size_t first, size_t end, const void *data);
/* Add the provenance (a JSON object), flush, and give the file its name. Destroys the writer, also on failure.
 * QB_BAD_ARGUMENT if an image is missing; an older file of that name then stays. */
QB_API qb_status qb_writer_commit(qb_writer *writer, const char *provenance);
QB_API void qb_writer_abort(qb_writer *writer); /* leaves nothing behind; NULL-safe */

/* Convert float32 to another dtype, with rounding half to even and clamping. Integer types map low..high onto their
 * whole range; NaN becomes 0 in them. `out` may be `values` if the dtype is QB_F32. */
QB_API void qb_convert_from_float(const float *values, size_t count, qb_dtype dtype, double low, double high,
                                  void *out);
/* Number of values that the dtype cannot hold: NaN, or outside low..high for integer types and -65504..65504 for
 * float16 (beyond rounding). 0 for QB_F32. */
QB_API size_t qb_count_outside(const float *values, size_t count, qb_dtype dtype, double low, double high);
/* Convert any dtype to float32, value by value. */
QB_API void qb_convert_to_float(const void *values, qb_dtype dtype, size_t count, float *out);

/* A grey-level PNG of one image; low = high picks the 0.5 and 99.5 percentiles. Larger images are
 * reduced by whole factors to at most 2048 pixels a side. Row 0 is at the top. */
QB_API qb_status qb_preview_write(const char *path, const float *image, size_t nx, size_t ny, double low, double high);

/* Write a small text file as all outputs are written: it gets its name when the whole text is on the disk; of a link,
 * the target is replaced. QB_BAD_ARGUMENT if the path is a pipe, a device or a folder. */
QB_API qb_status qb_file_write(const char *path, const char *text);

/* A part of a result: images first .. first + count - 1 of shape[0]. */
typedef struct qb_slab {
    size_t struct_size; /* size of the struct in the calling library: fields are added at the end */
    const void *data;   /* [count][shape[1]][shape[2]] of dtype, in host memory, until the call returns */
    qb_dtype dtype;
    size_t first, count, shape[3];
    double scale_low, scale_high; /* values of the smallest and largest integer, as in qb_stack */
    const char *units;
} qb_slab;
/* Return QB_OK to continue; any other status ends the job with that status and removes its output. */
typedef qb_status (*qb_slab_fn)(void *user, const qb_slab *slab);

/* The range of integer types leaves out 1 in 10,000 values at either end: of the middle slice (fbp and fdk only), or of
 * the whole volume, for which the job is computed twice. */
typedef enum qb_range_of { QB_RANGE_OF_SLICE, QB_RANGE_OF_VOLUME } qb_range_of;

/* Destination and format of the result. */
typedef struct qb_output_options {
    size_t struct_size;  /* see qb_params_init */
    const char *output;  /* -o */
    qb_dtype dtype;      /* float32, float16, uint16 or uint8 */
    qb_numbers range;    /* LO,HI for integer types */
    const char *preview; /* PNG of three orthogonal slices through the centre; of thin volumes the middle slice */
    /* An array of the result's shape and type, instead of a file. The struct and its data must outlive the job. Slabs
     * appear as they are finished, and stay if the job fails later. Set it by hand after qb_params_init. */
    const qb_tensor *array;
    /* HDF5: number of files, "1" to "64"; "auto": from 8 GB on one per writing thread, else one. */
    const char *parts;
    /* Called with each slab as soon as it is finished, each image once, in order. It runs on a thread of the job, which
     * writes the slab when the call returns. It may call the library, also to run another job. NULL = not called. */
    qb_slab_fn slab;
    void *slab_user;
    /* Grey levels of pictures (preview, contact sheet): "LO,HI", the values of black and white; NULL or "auto": the 0.5
     * and 99.5 percentiles */
    const char *window;
    qb_range_of range_of; /* integer types without `range`: how the range is found */
    qb_numbers clip;      /* LO,HI in the result's units: values are limited to this range; empty = not limited */
    const char *denoise;  /* filter of each image: gaussian:SIGMA or median:N, in voxels; NULL or none = off */
    const char *compress; /* compression, as in qb_stack */
    qb_zarr zarr;
} qb_output_options;
enum { QB_PARTS_MOST = 64 };
QB_API extern const qb_param qb_output_params[];

/* Allow files that are opened in this thread to have data outside their own folder (HDF5's external storage,
 * MetaImage's ElementDataFile). By default this is QB_BAD_INPUT. Returns the previous setting. */
QB_API bool qb_external_allow(bool allow);

/* The file formats, one line for each: name, extensions, whether it is read and written, or which package is missing
 * for it. */
QB_API size_t qb_format_count(void);
QB_API const char *qb_format_line(size_t index);

#ifdef __cplusplus
}
#endif
#endif
