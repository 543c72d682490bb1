/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FORMATS_H
#define QB_IO_FORMATS_H

#include "base/json.h"
#include "io/publish/paths.h"
#include "io/plain/source.h"
#include "io/writer_kind.h"
#include "quickbeam/geometry.h"
#include "quickbeam/scan.h"

/* One row per format: what its name looks like and who reads and writes it. */
typedef struct qb__format {
    const char *name;
    const char *extensions; /* " .h5 .hdf5 ": lower case, blanks around each */
    const char *line;       /* line for the user: name, extensions, whether it reads and writes, or what is missing */
    const char *package;    /* what to install when this build cannot read it; NULL = it can */
    /* Does a file begin like this one? For names that say nothing; may be NULL. */
    bool (*begins)(const unsigned char head[8]);
    /* A whole stack of images. `how` is an HDF5 dataset or the shape of raw data; may be NULL. */
    qb_status (*open)(const char *path, const char *how, qb__source **source);
    /* What open() cannot say: angles, flats, darks. NULL when the format knows only images. */
    qb_status (*scan)(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
    /* Where each view's source and detector are: a scan whose placed path is itself (qb__scan_parts). NULL: it does not
     * say. */
    qb_status (*geometry)(const char *path, qb_geometry *geometry);
    bool series;                   /* open() also takes folders and patterns of files */
    bool store;                    /* one folder is what a file is of others */
    const qb__writer_kind *writer; /* NULL = cannot */
    /* What the writer was told of a file's making; *object NULL when the file does not say. NULL: it never does. */
    qb_status (*provenance)(const char *path, cJSON **object);
} qb__format;

/* An output that goes nowhere (nothing.c). NULL-safe. */
bool qb__is_nothing(const char *path);
/* Whether that is a folder as a whole by its name (Zarr). */
bool qb__is_store(const char *path);
/* The format to read `path` with: by its name, else by its first bytes. QB_UNSUPPORTED with the
 * package's name when it was left out of this build. */
qb_status qb__format_to_read(const char *path, const qb__format **format);
/* The format to write `path` with, by its name alone. */
qb_status qb__format_to_write(const char *path, const qb__format **format);
/* FILE.h5:/PATH: the path inside, behind the colon that is made an end; NULL where the text is a file's name alone. */
char *qb__split_dataset(char *item);
/* Open any file as a stack of images. */
qb_status qb__source_open(const char *path, const char *how, qb__source **source);

qb_status qb__hdf5_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* Flats, or darks, of an HDF5 file: of a scan its own, of a file of fields all, of a dataset or group `dataset` (NULL:
 * none is named) what is there. */
qb_status qb__hdf5_fields(const char *path, const char *dataset, bool dark, qb__frames *out);
/* All numbers, `most` at most, of an HDF5 dataset, the caller's to free, and how many radians one of
 * them is as its attribute `units` has it: 0 where there is none, QB_BAD_INPUT where it is not known; `unit` NULL: it
 * is not asked for. QB_UNSUPPORTED in builds without HDF5. */
qb_status qb__hdf5_angles(const char *path, const char *dataset, size_t most, double **values, size_t *count,
                          double *unit);
qb_status qb__hdf5_open(const char *path, const char *dataset, qb__source **source);
qb_status qb__tiff_open(const char *path, const char *how, qb__source **source);
qb_status qb__npy_open(const char *path, const char *how, qb__source **source);
/* The same, but integers of 64 bits stand in it as doubles with their bits: *wide is "i" or "u" then, as a
 * character. */
qb_status qb__npy_open_wide(const char *path, char *wide, qb__source **source);
qb_status qb__mha_open(const char *path, const char *how, qb__source **source);
qb_status qb__nrrd_open(const char *path, const char *how, qb__source **source);
qb_status qb__mrc_open(const char *path, const char *how, qb__source **source);
qb_status qb__nifti_open(const char *path, const char *how, qb__source **source);
qb_status qb__vol_open(const char *path, const char *how, qb__source **source);
qb_status qb__den_open(const char *path, const char *how, qb__source **source);
qb_status qb__fits_open(const char *path, const char *how, qb__source **source);
/* Of images that are compressed in tiles; QB_UNSUPPORTED in builds without cfitsio. */
qb_status qb__fits_packed_open(const char *path, qb__source **source);
qb_status qb__edf_open(const char *path, const char *how, qb__source **source);
qb_status qb__png_open(const char *path, const char *how, qb__source **source);
qb_status qb__jp2_open(const char *path, const char *how, qb__source **source);
qb_status qb__mat_open(const char *path, const char *how, qb__source **source);
qb_status qb__mat_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__raw_open(const char *path, const char *how, qb__source **source);
qb_status qb__zarr_open(const char *path, const char *how, qb__source **source);
qb_status qb__zarr_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__zarr_provenance(const char *path, cJSON **object);
qb_status qb__mbirct_open(const char *path, const char *how, qb__source **source);
qb_status qb__mbirct_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__simulated_open(const char *path, const char *how, qb__source **source);
qb_status qb__simulated_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* Scanners' own settings (io/vendor); `open` gives their images. */
qb_status qb__vendor_open(const char *path, const char *how, qb__source **source);
qb_status qb__nikon_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__skyscan_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__phoenix_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__nsi_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* Diondo's and YXLON's, as their text says. */
qb_status qb__cabinet_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__zeiss_open(const char *path, const char *how, qb__source **source);
qb_status qb__zeiss_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__varian_open(const char *path, const char *how, qb__source **source);
qb_status qb__varian_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__elekta_open(const char *path, const char *how, qb__source **source);
qb_status qb__elekta_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__dicom_open_any(const char *path, const char *how, qb__source **source);
qb_status qb__ct_pd_open(const char *path, qb__source **source);
qb_status qb__ct_pd_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__dicom_slices_open(const char *path, qb__source **source);
/* Of the first slice (qb__dicom_note). */
qb_status qb__dicom_slices_note(const qb__source *source, cJSON **note);
qb_status qb__dicom_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__dicom_provenance(const char *path, cJSON **object);
qb_status qb__ct_pd_geometry(const char *path, qb_geometry *geometry);
/* The shape is VIEWS,ROWS,COLUMNS; of sinograms, which lie [row][view][column], too. */
qb_status qb__raw_open_as(const char *path, const char *how, bool sinogram, qb__source **source);

/* Flats or darks beside raw data of that shape: as many images as there are, in one file or a series; as its notes say
 * where it has them. */
qb_status qb__raw_open_like(const char *path, const char *how, qb__source **source);
/* Many such files, by a pattern or in a folder; the layout is that of all of them. */
qb_status qb__raw_series_open(const char *path, const struct qb__plain *layout, qb__source **source);

/* The files a folder, pattern or name stands for, in the order of the number that counts them (list_order.h).
 * QB_NOT_FOUND when none; QB_BAD_INPUT when there are several series of names, or none of their numbers counts. */
qb_status qb__list_images(const char *path, const char *extensions, qb__notes *files);
/* The images of the source's path, sorted, for a reader of several files. How many, the first and the last are told in
 * source->files. Numbers that are missing among them are the
 * source's trouble; of a pattern NAME_%d they are an error. Released by qb__notes_release, also on failure. */
qb_status qb__source_files(qb__source *source, const char *extensions, qb__notes *files);
/* strcmp that knows that 10 comes after 9. */
int qb__natural_compare(const char *a, const char *b);

/* Our notes beside NPY and raw data, PATH.json, into the source. None there is no failure; a file that is there
 * and cannot be read is. */
qb_status qb__sidecar_apply(const char *path, qb__source *source);
/* The object of such notes, wherever it was: into the source, and of a scan into the parts, whose source is open. */
void qb__sidecar_take(const cJSON *object, qb__source *source);
qb_status qb__sidecar_parts(const cJSON *object, const char *from, qb__scan_parts *parts);
/* The shape and type of raw data from there, "" when there is none. */
qb_status qb__sidecar_shape(const char *path, char *shape, size_t size);
qb_status qb__hdf5_provenance(const char *path, cJSON **object);
qb_status qb__tiff_provenance(const char *path, cJSON **object);
qb_status qb__mha_provenance(const char *path, cJSON **object);
qb_status qb__sidecar_provenance(const char *path, cJSON **object);
/* The scan of a format that keeps its angles there. */
qb_status qb__sidecar_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);

#endif
