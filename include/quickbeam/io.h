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

/* Load a whole file as one array [z][y][x] or [view][row][column] in its own dtype: HDF5 (`dataset`
 * NULL = /exchange/data or the only 3-D one), TIFF file, folder or pattern, MHA, NPY. voxel[3] in mm
 * (x, y, z), 0 when the file does not say; may be NULL. */
QB_API qb_status qb_array_load(const char *path, const char *dataset, qb_array *array, double voxel[3]);

/* The same as values: integers of our own files that stand for a range (--range) become float32 in it;
 * others stay what they are. */
QB_API qb_status qb_array_load_values(const char *path, const char *dataset, qb_array *array, double voxel[3]);

/* What a file says of the array in it. */
typedef struct qb_array_info {
    size_t struct_size; /* sizeof(qb_array_info), or 0: that of the first version. New fields come at the end */
    const char *format; /* "NPY" */
    qb_dtype dtype;
    size_t shape[3];              /* slowest first */
    double voxel[3], offset[3];   /* mm along x, y, z: of a voxel, of the middle; 0 = not said */
    double scale[2];              /* the values that integers' 0 and maximum stand for; equal = none */
    char quantity[24], units[24]; /* "attenuation", "1/mm"; "" = not said */
} qb_array_info;

/* The same files as qb_array_load, and its errors; reads no values. */
QB_API qb_status qb_array_describe(const char *path, const char *dataset, qb_array_info *info);

/* A stack of images in a file, of which any part can be read: a volume [z][y][x], or projections [view][row][column]. The same
 * files as qb_array_load, and its errors. */
typedef struct qb_volume qb_volume;
QB_API qb_status qb_volume_open(const char *path, const char *dataset, qb_volume **volume);
/* Belongs to the volume. */
QB_API const qb_array_info *qb_volume_info(const qb_volume *volume);
/* Of each index, slowest first, the elements first, first + step, ... (`count` of them): the values, as qb_array_load_values
 * gives them, into out[count[0]][count[1]][count[2]]. Any number of threads at once. QB_BAD_ARGUMENT beyond the end. */
QB_API qb_status qb_volume_read(qb_volume *volume, const size_t first[3], const size_t count[3], const size_t step[3],
                                float *out);
QB_API void qb_volume_close(qb_volume *volume); /* NULL-safe */

/* How a file of ours came to be, as qb_writer_commit was told: a JSON object with version, command,
 * input, plan; NULL when the file does not say. Release with qb_text_free. */
QB_API qb_status qb_provenance_load(const char *path, char **json);

/* Version of OME-Zarr: 0.5 is Zarr 3 with shards, 0.4 is Zarr 2. */
typedef enum qb_zarr { QB_ZARR_0_5, QB_ZARR_0_4 } qb_zarr;

/* What is written: a volume [z][y][x], or projections [view][row][column] with their fields. */
typedef struct qb_stack {
    qb_dtype dtype;
    size_t shape[3];
    double voxel[3];              /* mm along x, y, z (projections: column, row); 0 = unknown */
    double offset[3];             /* mm: world position of the volume's centre */
    const char *units;            /* "1/mm", "1/pixel", "HU", "counts", "" */
    const char *quantity;         /* "attenuation", or a qb_quantity_name */
    double scale_low, scale_high; /* integer dtypes: the values that 0 and the maximum stand for */
    size_t first;                 /* number of the first image in file names and metadata */
    const char *description;      /* one line */
    /* projections only */
    qb_beam beam;                  /* QB_BEAM_UNKNOWN: not said */
    const double *angles;          /* [shape[0]] radians, or NULL */
    const qb_array *flats, *darks; /* same dtype, [n][row][column], or NULL */
    /* HDF5 only: that many files in the folder NAME.h5.parts have the images, which threads write at once, and
     * NAME.h5 a virtual dataset of them; 0 and 1 = all in NAME.h5. */
    size_t parts;
    double
        axis; /* projections of a parallel beam: by how many columns the axis lies behind the middle one; NAN: not known */
    bool
        axis_stated; /* HDF5: the file states the axis (attribute rotation_axis_column of the images), and readers use it */
    const double *flat_views; /* HDF5: [flats->shape[0]] the view before which each flat was taken; NULL: not said */
    /* Zarr: none, gzip, zstd, blosc or bitshuffle; NULL: none */
    const char *compress;
    qb_zarr zarr;
} qb_stack;

/* A file being written under a temporary name; nothing that looks finished exists before commit. */
typedef struct qb_writer qb_writer;

/* The kind follows from the name: .h5 .hdf5 .nxs .mha .npy .raw, a folder (ends in / or exists) or
 * name_%05d.tif = TIFF stack, .tif = one multi-page TIFF. Checks that there is room on the disk. */
QB_API qb_status qb_writer_create(const char *path, const qb_stack *stack, qb_writer **writer);
/* images first..end-1 of the stack, in the stack's dtype, dense. Slabs may come in any order, from
 * one thread at a time, each image once. */
QB_API qb_status qb_writer_write(qb_writer *writer, size_t first, size_t end, const void *data);
/* Add the provenance (a JSON object), flush, and give the file its name. Destroys the writer, also on
 * failure: QB_BAD_ARGUMENT when an image was not written, and nothing has changed. */
QB_API qb_status qb_writer_commit(qb_writer *writer, const char *provenance);
QB_API void qb_writer_abort(qb_writer *writer); /* leaves nothing behind; NULL-safe */

/* float32 -> dtype, rounding half to even and clamping; integer types map low..high onto their whole
 * range. NaN becomes 0 in integer types. `out` may be `values` when the dtype is QB_F32. */
QB_API void qb_convert_from_float(const float *values, size_t count, qb_dtype dtype, double low, double high,
                                  void *out);
/* How many of them that cannot hold: outside low..high for integer types and -65504..65504 for
 * float16 (by more than rounding makes good), or NaN. 0 for QB_F32. */
QB_API size_t qb_count_outside(const float *values, size_t count, qb_dtype dtype, double low, double high);
/* Any dtype -> float32, value by value. */
QB_API void qb_convert_to_float(const void *values, qb_dtype dtype, size_t count, float *out);

/* A grey-level PNG of one image; low = high picks the 0.5 and 99.5 percentiles. Larger images are
 * reduced by whole factors to at most 2048 pixels a side. Row 0 is at the top. */
QB_API qb_status qb_preview_write(const char *path, const float *image, size_t nx, size_t ny, double low, double high);

/* A small file of a program's own, in the way of all outputs: it gets its name when the whole text is
 * on the disk, what a link leads to is replaced and not the link, and QB_BAD_ARGUMENT when there is a
 * pipe, a device or a folder. */
QB_API qb_status qb_file_write(const char *path, const char *text);

/* Part of a result, as it is written: images first .. first + count - 1 of shape[0]. */
typedef struct qb_slab {
    size_t struct_size; /* size of the struct in the calling library: fields are added at the end */
    const void *data;   /* [count][shape[1]][shape[2]] of dtype, in host memory, until the call returns */
    qb_dtype dtype;
    size_t first, count, shape[3];
    double scale_low, scale_high; /* as qb_stack's */
    const char *units;
} qb_slab;
/* QB_OK to go on; anything else ends the job with it, and nothing is left of its output. */
typedef qb_status (*qb_slab_fn)(void *user, const qb_slab *slab);

/* All but 1 in 10,000 values at either end: of the middle slice (fbp and fdk only), or of the whole volume, for which the job is
 * done twice. */
typedef enum qb_range_of { QB_RANGE_OF_SLICE, QB_RANGE_OF_VOLUME } qb_range_of;

/* Where results go and as what. */
typedef struct qb_output_options {
    size_t struct_size;  /* see qb_params_init */
    const char *output;  /* -o */
    qb_dtype dtype;      /* float32, float16, uint16 or uint8 */
    qb_numbers range;    /* LO,HI for integer types */
    const char *preview; /* PNG of the three slices through the middle, labelled; the middle one of few */
    /* Instead of a file: an array of the result's shape, whose type is the output's. The struct and
     * its data must outlive the job. Slabs appear as they are finished; what a job that failed has
     * written stays. Set it by hand after qb_params_init. */
    const qb_tensor *array;
    /* HDF5: over how many files, "1" to "64"; "auto": from 8 GB on as many as threads that write, else one. */
    const char *parts;
    /* Called with each slab as soon as it is finished, each image once, in order. It runs on a thread of the job, which writes the slab
     * when the call returns. It may call the library, also to run another job. NULL = not called. */
    qb_slab_fn slab;
    void *slab_user;
    const char
        *window; /* grey levels of pictures (preview, contact sheet): "LO,HI", the values that are black and white;
                          NULL or "auto": from the 0.5 to the 99.5 percentile */
    qb_range_of range_of; /* integer types without `range`: where that is from */
    qb_numbers clip;      /* LO,HI in the result's units: smaller and larger values become these; none = all stay */
    const char *denoise;  /* of each image: gaussian:SIGMA or median:N, in voxels; NULL or none = as it is */
    const char *compress; /* as qb_stack's */
    qb_zarr zarr;
} qb_output_options;
enum { QB_PARTS_MOST = 64 };
QB_API extern const qb_param qb_output_params[];

/* Whether files that are opened in this thread may have their data outside their own folder, as HDF5's external storage
 * and MetaImage's ElementDataFile can say; at first they may not (QB_BAD_INPUT). Returns what was so before. */
QB_API bool qb_external_allow(bool allow);

/* One line per format: name, extensions, reads, writes, or which package is missing for it. */
QB_API size_t qb_format_count(void);
QB_API const char *qb_format_line(size_t index);

#ifdef __cplusplus
}
#endif
#endif
