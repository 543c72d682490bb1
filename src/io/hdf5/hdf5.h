/* SPDX-License-Identifier: MIT */
#pragma once

/* Only in a build with HDF5. */
#include <hdf5.h>

#include "io/plain/source.h"
#include "io/geometry/unit_words.h"

/* HDF5 has one lock, and so have we, around every use of the library. Its printing of errors is switched off meanwhile
 * and restored afterwards. */
void qb__h5_enter(void);
void qb__h5_leave(void);

/* The errno of a system fault (failing disk, no memory, no permission) that HDF5 met since the outermost
 * qb__h5_enter(), because many of its failures are ignored; 0 = none. Then it is set to `other`. */
int qb__h5_fault(int other);
bool qb__h5_has_fault(void);
/* Returns `status`, unless there was such a fault and `status` says that all is well or that the file is bad. */
qb_status qb__h5_judge(qb_status status, const char *path);

/* The functions below must be called with the lock held. */

/* Fails with `status` and "path: what: HDF5's message of its last failure". */
qb_status qb__h5_fail(qb_status status, const char *path, const char *what);
/* Open for reading. At most QB__H5_INDEX bytes of metadata are kept in memory. */
enum { QB__H5_INDEX = 2 << 20 };
qb_status qb__h5_open(const char *path, hid_t *file);
bool qb__h5_being_written(hid_t file); /* another process has it open for writing and lets others read (SWMR) */
/* QB_UNSUPPORTED with the filter and what to install, if the data are compressed by a filter that is missing. */
qb_status qb__h5_check_filters(hid_t set, hid_t plist, const char *label);
/* qb__h5_check_filters after a failed read; QB_OK: a missing filter is not the cause. */
qb_status qb__h5_blame_filters(hid_t set, const char *label);
/* Refuse a dataset that cannot be images, with what it is. */
qb_status qb__h5_refuse_shape(hid_t file, const char *path, const char *label);
qb_status qb__h5_refuse_type(hid_t type, const char *label);
/* Follow the path from a file or group through any links: 1 = an object, 0 = nothing, -1 = a link that leads nowhere,
 * or unknown. The time is linear in the path's length. */
int qb__h5_look(hid_t place, const char *path);
bool qb__h5_exists(hid_t place, const char *path); /* true if qb__h5_look returns 1 */
/* A dataset's shape; false if the path is not a dataset of 1 to 3 dimensions, besides others of size 1, which are left
 * out. Missing leading dimensions are 1. */
bool qb__h5_shape(hid_t file, const char *path, int *rank, size_t shape[3]);
/* The number of dimensions, those that are read as images, rows and columns (-1: missing), and their text, such as "120 x
 * 1 x 6 x 64"; 0 if unknown. */
int qb__h5_dimensions(hid_t set, int kept[3], char *text, size_t size);
/* True for one dimension, or others of 1 besides it. */
static inline bool qb__h5_is_list(const size_t shape[3]) {
    return (shape[0] == 1) + (shape[1] == 1) + (shape[2] == 1) >= 2;
}
/* QB_BAD_INPUT if its data are in files where they may not be: see qb_external_allow. */
qb_status qb__h5_check_external(hid_t set);
/* All numbers of a dataset of at most one dimension, as doubles. `count` must not exceed `limit`. */
qb_status qb__h5_numbers(hid_t file, const char *name, const char *path, size_t limit, double **values, size_t *count);
/* A string dataset or attribute; false and "" if there is none. `attribute` NULL = the dataset. */
bool qb__h5_text(hid_t file, const char *path, const char *attribute, char *text, size_t size);
/* One number of an attribute. */
bool qb__h5_number(hid_t file, const char *path, const char *attribute, double *number);

/* Kind of a single number in the metadata. UNSET: 0, or without a unit, as programs write unknown values. */
enum { QB__H5_WHY = 220 };
typedef enum qb__h5_found { QB__H5_ABSENT, QB__H5_UNSET, QB__H5_WRONG, QB__H5_GOOD } qb__h5_found;
typedef struct qb__h5_kind {
    const char *name; /* "length" */
    double (*unit)(const char *word);
    bool any_sign; /* distances upstream are negative */
} qb__h5_kind;
extern const qb__h5_kind qb__h5_length, qb__h5_distance, qb__h5_energy;
/* The first number of a dataset, times its unit; kind NULL: unchanged, with any sign. why: "", or the reason why it is
 * not used. */
qb__h5_found qb__h5_scalar(hid_t file, const char *name, const char *path, const qb__h5_kind *kind, double *value,
                           char why[QB__H5_WHY]);
/* Index of the first of these datasets (ended by NULL) with a usable number; 0: none. Unusable ones before it are
 * noted. */
double qb__h5_first_of(hid_t file, const char *name, const char *const *paths, const qb__h5_kind *kind,
                       qb__notes *notes, char why[QB__H5_WHY]);
bool qb__h5_again(const char *const *paths, size_t i); /* true if an earlier path is the same */
/* A flag: a number, or a text such as "True". False if there is none. */
bool qb__h5_flag(hid_t file, const char *name, const char *path, qb__notes *notes);

/* A dataset of two or three dimensions as a stack of images: read by pread if it is uncompressed and contiguous, else
 * by HDF5. Its read() takes the lock itself. */
qb_status qb__h5_source(hid_t file, const char *name, const char *path, qb__source **source);
/* A virtual dataset with `whole`'s type and shape, from its creation list, in `file`, after qb__h5_check_mapped.
 * QB_BAD_INPUT if a part (hdf5_own.h) belongs to another volume. `open_source` (qb__h5_source) opens a part; *source
 * is NULL if the parts are not of that form, and HDF5 must read them. */
enum { QB__H5_ID = 40 }; /* bytes of a volume's identity, which is stored in each of its parts */
typedef qb_status qb__h5_open_source(hid_t file, const char *name, const char *path, qb__source **source);
qb_status qb__h5_virtual(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                         const qb__source *whole, qb__source **source);
/* Open every source of a virtual dataset of `rank` dimensions, with that creation list, in `file`, and compare it with
 * its mapping: QB_BAD_INPUT if one is missing, truncated or shorter than the mapping needs. Images without a mapping
 * become whole->holes, with whole->trouble. */
qb_status qb__h5_check_mapped(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                              int rank, qb__source *whole);
extern bool qb__h5_mapped_is_known; /* true in a reader process: its parent has checked the mappings */
/* A string type for files that we write; close it. */
hid_t qb__h5_type(qb_dtype dtype);

/* Results of a walk over all links of a file; paths are owned. */
typedef struct qb__h5_map {
    qb__notes entries;   /* groups with definition NXtomo */
    qb__notes keys;      /* image_key and image_key_control datasets */
    qb__notes angles;    /* 1-D datasets that are rotation angles by name or attribute */
    qb__notes arrays;    /* 2-D and 3-D datasets, without the next ones */
    qb__notes masks;     /* those that are called pixel_mask */
    qb__notes exchanges; /* groups /exchange* with data */
    size_t links, dangling;
    size_t deeper; /* groups below QB__H5_LEVELS that were not visited */
    char first_dangling[256];
    char odd_mask[256];   /* a pixel_mask of other than two or three dimensions; "": none */
    char first_deep[256]; /* an array of more than three dimensions; "": none */
} qb__h5_map;
enum {
    QB__H5_LEVELS = 64,    /* real files have about a dozen */
    QB__H5_LINKS = 200000, /* the walk ends after so many links */
};
/* The time is linear in the number of links. */
qb_status qb__h5_walk(hid_t file, const char *name, qb__h5_map *map);
void qb__h5_map_release(qb__h5_map *map);

/* Reads the pixel_mask that is nearest to `data` in the tree into parts->mask, unless one was read before. One that cannot
 * be used is noted. */
qb_status qb__h5_mask(hid_t file, const char *name, const char *data, const qb__h5_map *map, qb__scan_parts *parts);
qb_status qb__mask_mirror(qb__detector_mask *mask, bool columns, bool rows);

/* Open the scan in a file, or in the dataset or group of the options; without the lock. */
qb_status qb__hdf5_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* The layouts, in the order in which they are tried, with the file's map. QB_NOT_FOUND: not this layout. */
qb_status qb__exchange_scan(hid_t file, const char *name, const char *group, const qb_scan_options *options,
                            qb__scan_parts *parts);
qb_status qb__nxtomo_scan(hid_t file, const char *name, const char *below, const qb__h5_map *map,
                          qb__scan_parts *parts);
/* Beam intensities, exposures and motor positions of an NXtomo entry with so many frames, whose kinds are known. */
void qb__nxtomo_sample(hid_t file, const char *name, const char *entry, const char *group, size_t frames,
                       qb__scan_parts *parts);
/* Only flats or darks; QB_NOT_FOUND as above, QB_BAD_INPUT if its keys name none. */
qb_status qb__nxtomo_fields(hid_t file, const char *name, const char *below, const qb__h5_map *map, bool dark,
                            qb__frames *out);
/* Raw files of ESRF's bliss: groups 1.1, 2.1, ..., each a scan whose title tells the kind of its frames. QB_NOT_FOUND
 * as above, QB_BAD_INPUT if there are several sequences, or no such frames. */
qb_status qb__bliss_scan(hid_t file, const char *name, const qb__h5_map *map, qb__scan_parts *parts);
qb_status qb__bliss_fields(hid_t file, const char *name, const qb__h5_map *map, bool dark, qb__frames *out);
/* The dataset that NeXus' attributes `default` and `signal` lead to; false if there is none. */
bool qb__h5_default(hid_t file, char *path, size_t size);
/* What axes next to the array at `path` state (hdf5_axes.c): angles, the size of voxels, and that it is a volume. */
qb_status qb__h5_axes(hid_t file, const char *name, const char *path, qb__scan_parts *parts);
/* Angles from a dataset, for all `frames` or for the projections. */
qb_status qb__h5_angles(hid_t file, const char *name, const char *path, qb__scan_parts *parts);
/* Energy of the beam and distance from object to detector, from the first of these paths (ended by NULL) with a known
 * unit. */
void qb__h5_beam(hid_t file, const char *name, const char *const *energies, const char *const *distances,
                 qb__scan_parts *parts);
/* Pixels and beam of a DataExchange file. */
void qb__exchange_detector(hid_t file, const char *name, qb__scan_parts *parts);
/* Pixels, distances, axis and mirrored images of an NXtomo entry, whose frames are then mirrored when they are read;
 * only the mirrored images. */
qb_status qb__nxtomo_detector(hid_t file, const char *name, const char *entry, const char *group,
                              qb__scan_parts *parts);
qb_status qb__nxtomo_mirror(hid_t file, const char *name, const char *group, qb__scan_parts *parts);
/* Pixel sizes along columns and rows, each as by qb__h5_pixel. */
void qb__h5_pixels(hid_t file, const char *name, const char *const *x, const char *const *y, qb__scan_parts *parts);
/* The pixel size from the first of these datasets that exists. */
void qb__h5_pixel(hid_t file, const char *name, const char *const *paths, qb__scan_parts *parts);
