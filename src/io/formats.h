/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "io/publish/paths.h"
#include "io/plain/source.h"
#include "io/writer_kind.h"
#include "quickbeam/geometry.h"
#include "quickbeam/scan.h"

enum { QB__STARTS_MOST = 4 };

/* Opens the file as a whole stack of images. `how` is an HDF5 dataset or the shape of raw data; may be NULL. */
typedef qb_status qb__format_open(const char *path, const char *how, qb__source **source);
/* Reads what opening does not return: angles, flats and darks. */
typedef qb_status qb__format_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* Reads the provenance that the writer stored in the file; *object is NULL if the file has none. */
typedef qb_status qb__format_provenance(const char *path, cJSON **object);

/* One row per format: its file extensions, and the functions that read and write it. */
typedef struct qb__format {
    const char *name;
    const char *extensions; /* " .h5 .hdf5 ": lower case, blanks around each */
    const char *line;       /* line for the user: name, extensions, whether it reads and writes, or what is missing */
    const char *package;    /* what to install when this build cannot read it; NULL = it can */
    /* First bytes of such files, at most eight. Used if the name does not tell the format. */
    struct {
        const char *bytes;
        size_t length;
    } starts[QB__STARTS_MOST];
    qb__format_open *open;
    qb__format_scan *scan; /* NULL: the format holds images only */
    /* Reads the position of source and detector for each view, if qb__scan_parts.placed names this file. NULL if the
     * format does not state them. */
    qb_status (*geometry)(const char *path, qb_geometry *geometry);
    bool series;                       /* open() also takes folders and patterns of files */
    bool store;                        /* a dataset of this format is a folder (Zarr) */
    const qb__writer_kind *writer;     /* NULL: the format is not written */
    qb__format_provenance *provenance; /* NULL: the format never stores it */
} qb__format;

/* Whether `path` is /dev/null: the output is discarded (nothing.c). `path` may be NULL. */
bool qb__is_nothing(const char *path);
/* Whether the name says that the dataset is a whole folder (Zarr). */
bool qb__is_store(const char *path);
/* The format to read `path` with: by its name, else by its first bytes. QB_UNSUPPORTED with the
 * package's name when it was left out of this build. */
qb_status qb__format_to_read(const char *path, const qb__format **format);
/* The format for writing `path`, from its name alone. */
qb_status qb__format_to_write(const char *path, const qb__format **format);
/* Splits FILE.h5:/PATH at its colon, which becomes the end of the file name, and returns the path inside the file. NULL
 * if the text is only a file name. */
char *qb__split_dataset(char *item);
/* Open any file as a stack of images. */
qb_status qb__source_open(const char *path, const char *how, qb__source **source);

/* The functions in the rows. qb__vendor_open returns the images that the settings file of a scanner names;
 * qb__cabinet_scan is for Diondo and YXLON, which the text of the settings tells apart; qb__sidecar_scan is for formats
 * that keep their angles in the sidecar. */
extern qb__format_open qb__hdf5_open, qb__tiff_open, qb__npy_open, qb__mha_open, qb__nrrd_open, qb__mrc_open,
    qb__nifti_open, qb__vol_open, qb__den_open, qb__fits_open, qb__edf_open, qb__png_open, qb__jp2_open, qb__mat_open,
    qb__raw_open, qb__zarr_open, qb__mbirct_open, qb__simulated_open, qb__vendor_open, qb__zeiss_open, qb__varian_open,
    qb__elekta_open, qb__dicom_open_any;
extern qb__format_scan qb__hdf5_scan, qb__mrc_scan, qb__mat_scan, qb__zarr_scan, qb__mbirct_scan, qb__simulated_scan,
    qb__nikon_scan, qb__skyscan_scan, qb__phoenix_scan, qb__nsi_scan, qb__cabinet_scan, qb__zeiss_scan, qb__varian_scan,
    qb__elekta_scan, qb__ct_pd_scan, qb__dicom_scan, qb__sidecar_scan;
extern qb__format_provenance qb__zarr_provenance, qb__dicom_provenance, qb__hdf5_provenance, qb__tiff_provenance,
    qb__mha_provenance, qb__sidecar_provenance;

/* Flats or darks of an HDF5 file. From a scan: its own fields. From a file of fields only: all images. With `dataset`,
 * the path of a dataset or group: the images in it. NULL: no path is given. */
qb_status qb__hdf5_fields(const char *path, const char *dataset, bool dark, qb__frames *out);
/* Reads at most `most` numbers of an HDF5 dataset; the caller frees *values. *unit: radians of one number, from the
 * attribute `units`; 0 if there is no attribute, QB_BAD_INPUT if the unit is unknown. `unit` may be NULL: then the
 * attribute is not read. QB_UNSUPPORTED in builds without HDF5. */
qb_status qb__hdf5_angles(const char *path, const char *dataset, size_t most, double **values, size_t *count,
                          double *unit);
/* qb__npy_open that also accepts 64-bit integers: the source then has type double, with the bits of the integers. *wide
 * is then the character 'i' (signed) or 'u' (unsigned). */
qb_status qb__npy_open_wide(const char *path, char *wide, qb__source **source);
/* Values of FITS are slope * stored + zero; `blank` is stored for pixels without a value; NAN: none. */
typedef struct qb__fits_meaning {
    double slope, zero, blank;
} qb__fits_meaning;
/* Opens FITS images that are compressed in tiles. QB_UNSUPPORTED in builds without cfitsio. */
qb_status qb__fits_packed_open(const char *path, qb__source **source, qb__fits_meaning *meaning);
qb_status qb__ct_pd_open(const char *path, qb__source **source);
qb_status qb__dicom_slices_open(const char *path, qb__source **source);
/* Reads our private note from the first slice (qb__dicom_note). */
qb_status qb__dicom_slices_note(const qb__source *source, cJSON **note);
qb_status qb__ct_pd_geometry(const char *path, qb_geometry *geometry);
/* `how` states the shape as VIEWS,ROWS,COLUMNS, also for sinograms, which are stored as [row][view][column]. */
qb_status qb__raw_open_as(const char *path, const char *how, bool sinogram, qb__source **source);

/* Opens flats or darks of raw data. `how` gives the image size and type; the file size gives the number of images, in
 * one file or in a series of files. If a single file has a sidecar with its own shape, that shape is used. */
qb_status qb__raw_open_like(const char *path, const char *how, qb__source **source);
/* Opens a series of raw files, from a pattern or a folder; every file has the given layout. */
qb_status qb__raw_series_open(const char *path, const struct qb__plain *layout, qb__source **source);
/* The same of these files, in their order, which it releases. */
qb_status qb__raw_files_open(const char *path, qb__notes *files, const struct qb__plain *layout, qb__source **source);

/* Lists the files that a folder, pattern or name stands for, in the order of their running number (list_order.c).
 * QB_NOT_FOUND if there are none; QB_BAD_INPUT if there are several series of names, or if no number in the names
 * counts up. */
qb_status qb__list_images(const char *path, const char *extensions, qb__notes *files);
/* Lists the images of the source's path, sorted, for a reader of several files. source->files states their number, the
 * first and the last name. Missing numbers are noted in source->trouble; for a pattern NAME_%d they are an error. The
 * caller calls qb__notes_release, also on failure. */
qb_status qb__source_files(qb__source *source, const char *extensions, qb__notes *files);
/* Compares names like strcmp, but with the numbers in them by value: 9 comes before 10. */
int qb__natural_compare(const char *a, const char *b);

/* Applies the sidecar PATH.json of NPY and raw data to the source. It is no error if there is no sidecar; a sidecar
 * that cannot be read is an error. */
qb_status qb__sidecar_apply(const char *path, qb__source *source);
/* Applies the JSON object of such notes, from a sidecar or from inside a file: qb__sidecar_take to a source,
 * qb__sidecar_parts to the parts of a scan whose source is already open. */
void qb__sidecar_take(const cJSON *object, qb__source *source);
qb_status qb__sidecar_parts(const cJSON *object, const char *from, qb__scan_parts *parts);
/* The shape and type of raw data from the sidecar; "" if there is none. */
qb_status qb__sidecar_shape(const char *path, char *shape, size_t size);

/* Start and end, in the first name, of the number that decides the order; both 0: the names themselves decide. */
typedef struct qb__counter {
    size_t begin, end;
} qb__counter;

/* Sort files whose names differ only in their numbers by the number that counts them. QB_BAD_INPUT if names differ
 * otherwise, or if two numbers could count. `numbers` (files->count, or NULL) gets the number of each. */
qb_status qb__list_order(const char *path, const qb__counter *counter, qb__notes *files, long long *numbers);

/* The settings file of a scanner in the folder of some images, or else in the folder above: its name states their
 * angles and geometry. False if there is none, or if there are several. */
bool qb__settings_near(const char *path, char *found, size_t size);
/* The only settings file in this folder itself. */
bool qb__settings_in(const char *folder, char *found, size_t size);
