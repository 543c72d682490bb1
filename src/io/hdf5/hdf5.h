/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_H
#define QB_IO_HDF5_H

/* Inside a build with HDF5 only. */
#include <hdf5.h>

#include "io/plain/source.h"
#include "io/geometry/unit_words.h"

/* HDF5 has one lock, and so have we: around every use of the library. Its habit of printing errors
 * is switched off meanwhile and given back afterwards. */
void qb__h5_enter(void);
void qb__h5_leave(void);

/* The errno of a fault of the system's (a disk that fails, no memory, no permission) that HDF5 met since the outermost
 * qb__h5_enter(), as many of its failures are looked past; 0 = none. It is set to `other`. */
int qb__h5_fault(int other);
bool qb__h5_has_fault(void);
/* `status`, unless there was such a fault and `status` says that all is well or that the file is bad. */
qb_status qb__h5_judge(qb_status status, const char *path);

/* The functions below want the lock held. */

/* `status` with "path: what: HDF5's own words about its last failure". */
qb_status qb__h5_fail(qb_status status, const char *path, const char *what);
/* For reading. Of where things lie in the file at most QB__H5_INDEX bytes are held. */
enum { QB__H5_INDEX = 2 << 20 };
qb_status qb__h5_open(const char *path, hid_t *file);
bool qb__h5_being_written(hid_t file); /* another process has it open, which lets others read meanwhile (SWMR) */
/* QB_UNSUPPORTED with the filter and what to install, where the data are packed by one that is not there. */
qb_status qb__h5_check_filters(hid_t set, hid_t plist, const char *label);
/* qb__h5_check_filters after a read that failed; QB_OK: a missing filter is not the cause. */
qb_status qb__h5_blame_filters(hid_t set, const char *label);
/* Refusals of a dataset that cannot be images, with what it is. */
qb_status qb__h5_refuse_shape(hid_t file, const char *path, const char *label);
qb_status qb__h5_refuse_type(hid_t type, const char *label);
/* Does the path, from a file or a group on, lead to an object, through any links? 1 = yes, 0 = nothing is there, -1 =
 * a link is, but leads nowhere, or it cannot be told. Takes time with the path's length, not with its square. */
int qb__h5_look(hid_t place, const char *path);
bool qb__h5_exists(hid_t place, const char *path); /* whether qb__h5_look gives 1 */
/* A dataset's shape; false when the path is no dataset of 1 to 3 dimensions. Missing leading
 * dimensions are 1. */
bool qb__h5_shape(hid_t file, const char *path, int *rank, size_t shape[3]);
/* One dimension, or others of 1 beside it. */
static inline bool qb__h5_is_list(const size_t shape[3]) {
    return (shape[0] == 1) + (shape[1] == 1) + (shape[2] == 1) >= 2;
}
/* QB_BAD_INPUT when its data lie in other files where they may not: qb_external_allow. */
qb_status qb__h5_check_external(hid_t set);
/* Every number of a dataset of at most one dimension, as doubles. `count` must not exceed `limit`.
 */
qb_status qb__h5_numbers(hid_t file, const char *name, const char *path, size_t limit, double **values, size_t *count);
/* A string dataset or attribute; false and "" when there is none. `attribute` NULL = the dataset.
 */
bool qb__h5_text(hid_t file, const char *path, const char *attribute, char *text, size_t size);
/* One number of an attribute. */
bool qb__h5_number(hid_t file, const char *path, const char *attribute, double *number);

/* What a single number of metadata turns out to be. UNSET: 0, or without a unit, as programs leave what they do not know. */
enum { QB__H5_WHY = 220 };
typedef enum qb__h5_found { QB__H5_ABSENT, QB__H5_UNSET, QB__H5_WRONG, QB__H5_GOOD } qb__h5_found;
typedef struct qb__h5_kind {
    const char *name; /* "length" */
    double (*unit)(const char *word);
    bool any_sign; /* upstream distances are negative */
} qb__h5_kind;
extern const qb__h5_kind qb__h5_length, qb__h5_distance, qb__h5_energy;
/* The first number of a dataset, times its unit; kind NULL: as it is, of either sign. why: "", or the reason why it is none. */
qb__h5_found qb__h5_scalar(hid_t file, const char *name, const char *path, const qb__h5_kind *kind, double *value,
                           char why[QB__H5_WHY]);
/* The first of these datasets, ended by NULL, with a good one; 0: none. Wrong ones before it are noted. */
double qb__h5_first_of(hid_t file, const char *name, const char *const *paths, const qb__h5_kind *kind,
                       qb__notes *notes, char why[QB__H5_WHY]);
bool qb__h5_again(const char *const *paths, size_t i); /* whether one before it is the same */
/* A flag: a number, or a text such as "True". False where there is none. */
bool qb__h5_flag(hid_t file, const char *name, const char *path, qb__notes *notes);

/* A dataset of two or three dimensions as a stack of images: by pread when it lies uncompressed in
 * one piece, else through HDF5. Takes the lock itself in its read(). */
qb_status qb__h5_source(hid_t file, const char *name, const char *path, qb__source **source);
/* A virtual dataset, of `whole`'s type and shape, by its creation list, in `file`, after qb__h5_check_mapped. QB_BAD_INPUT
 * when a part of hdf5_parts.h is not the one that belongs there. `open_source` (qb__h5_source) opens a part; *source is NULL where its parts are not such, and HDF5
 * must read them. */
enum { QB__H5_ID = 40 }; /* bytes of a volume's identity, which each of its parts has, too */
typedef qb_status qb__h5_open_source(hid_t file, const char *name, const char *path, qb__source **source);
qb_status qb__h5_virtual(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                         const qb__source *whole, qb__source **source);
/* Opens every source of a virtual dataset of `rank` dimensions, with that creation list, in `file`, and compares it with
 * its mapping: QB_BAD_INPUT when one is missing, cut short or shorter than what is taken of it. Images to which no
 * mapping leads become whole->holes, with whole->trouble. */
qb_status qb__h5_check_mapped(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                              int rank, qb__source *whole);
extern bool qb__h5_mapped_is_known; /* that was done by the process that this one reads for */
/* In memory or in a file we write; close it. */
hid_t qb__h5_type(qb_dtype dtype);

/* What a walk over all links of a file found; paths are owned. */
typedef struct qb__h5_map {
    qb__notes entries;   /* groups whose definition is NXtomo */
    qb__notes keys;      /* image_key and image_key_control datasets */
    qb__notes angles;    /* 1-D datasets that by name or attribute are rotation angles */
    qb__notes arrays;    /* 2-D and 3-D datasets */
    qb__notes exchanges; /* groups /exchange* with data */
    size_t links, dangling;
    size_t deeper; /* groups below QB__H5_LEVELS, not looked into */
    char first_dangling[256];
} qb__h5_map;
enum {
    QB__H5_LEVELS = 64,    /* real files have a dozen */
    QB__H5_LINKS = 200000, /* the walk ends after this many links */
};
/* Takes time with the number of links. */
qb_status qb__h5_walk(hid_t file, const char *name, qb__h5_map *map);
void qb__h5_map_release(qb__h5_map *map);

/* QB_BAD_INPUT when the library crashes or hangs on the file, in a process of its own: qb_tool_hdf5_guard. Without the
 * lock, before any of the following. */
qb_status qb__h5_prove(const char *path, const char *dataset);
enum { QB__TRIAL_NO_MEMORY = 9 }; /* the exit code of such a process: not even what it was allowed was enough */

/* The scan in a file, or under the dataset or group of the options; without the lock. */
qb_status qb__hdf5_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
/* The layouts it tries, in order. The file's map is there; QB_NOT_FOUND means: not mine. */
qb_status qb__exchange_scan(hid_t file, const char *name, const char *group, const qb_scan_options *options,
                            qb__scan_parts *parts);
qb_status qb__nxtomo_scan(hid_t file, const char *name, const char *below, const qb__h5_map *map,
                          qb__scan_parts *parts);
/* Intensities and motion of an NXtomo entry of so many frames, whose kinds are known. */
void qb__nxtomo_sample(hid_t file, const char *name, const char *entry, size_t frames, qb__scan_parts *parts);
/* Flats or darks alone; QB_NOT_FOUND likewise, QB_BAD_INPUT where its keys name none. */
qb_status qb__nxtomo_fields(hid_t file, const char *name, const char *below, const qb__h5_map *map, bool dark,
                            qb__frames *out);
/* Raw files of ESRF's bliss: groups 1.1, 2.1, ... each a scan of its own, whose title says what its frames are.
 * QB_NOT_FOUND likewise, QB_BAD_INPUT where there are several sequences, or no such frames. */
qb_status qb__bliss_scan(hid_t file, const char *name, const qb__h5_map *map, qb__scan_parts *parts);
qb_status qb__bliss_fields(hid_t file, const char *name, const qb__h5_map *map, bool dark, qb__frames *out);
/* The dataset that NeXus' attributes `default` and `signal` lead to; false when they lead to none. */
bool qb__h5_default(hid_t file, char *path, size_t size);
/* Angles from a dataset, `frames` of them or so many as are projections. */
qb_status qb__h5_angles(hid_t file, const char *name, const char *path, qb__scan_parts *parts);
/* Energy of the beam and distance from object to detector, by the first of these paths, ended by NULL, with a known unit. */
void qb__h5_beam(hid_t file, const char *name, const char *const *energies, const char *const *distances,
                 qb__scan_parts *parts);
/* Pixels, distances, axis and mirrored images of an NXtomo entry, of whose frames those that are known are then read mirrored; the latter alone. */
qb_status qb__nxtomo_detector(hid_t file, const char *name, const char *entry, const char *group,
                              qb__scan_parts *parts);
qb_status qb__nxtomo_mirror(hid_t file, const char *name, const char *group, qb__scan_parts *parts);
/* Pixel sizes along columns and rows, each as by qb__h5_pixel. */
void qb__h5_pixels(hid_t file, const char *name, const char *const *x, const char *const *y, qb__scan_parts *parts);
/* The pixel size from the first of these datasets that is there. */
void qb__h5_pixel(hid_t file, const char *name, const char *const *paths, qb__scan_parts *parts);

#endif
