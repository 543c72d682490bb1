/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/warning.h"
#include "quickbeam/array.h"
#include "quickbeam/scan.h"

/* What every reader turns a file into: a stack of images from which any rows can be read. */
typedef struct qb__source qb__source;

/* A part of the stack: images first, first + step, ... (`count` images), their rows row0 <= row < row1, all columns. */
typedef struct qb__region {
    size_t first, count, step;
    size_t row0, row1;
} qb__region;

struct qb__source {
    const char *format; /* "NPY" */
    char *path;         /* the file name for messages; owned */
    qb_dtype dtype;
    size_t shape[3];   /* images, rows, columns */
    size_t chunk[3];   /* size of a storage chunk: reading part of it costs as much as all of it; 1,1,1: not chunked */
    size_t cache;      /* bytes that reading needs besides its result */
    size_t cache_each; /* further bytes for each thread that unpacks */
    bool direct;       /* any part of a region costs no more to read alone than with the rest */
    size_t threads;    /* threads that one read() may use; at first the number of CPUs, at most 16 */
    /* Bytes per second of read() for data that are computed, not stored; measured once. NULL: the data are stored. */
    double (*computes)(qb__source *source);
    double voxel[3];  /* mm along x, y, z; 0 = unknown */
    double offset[3]; /* mm: world position of a volume's centre; 0 if the file does not state it */
    bool z_down;      /* z points down: see qb_stack */
    bool integers;    /* float32 only because some of the integers are missing */
    bool turned;      /* the file states axes that are turned or mirrored; this is not applied */
    /* integers of our own files: the values of the number 0 and of the largest number; equal = none */
    double scale[2];
    char quantity[24];    /* quantity as the file states it; "" when it does not */
    char units[24];       /* units as the file states them, such as "1/mm"; "" */
    qb_beam beam;         /* beam as the file states it */
    uint64_t unwritten;   /* chunks that were never written */
    char trouble[160];    /* one sentence about a fault that is not an error; "" */
    char files[340];      /* several files: their number, the first and the last name; before it, what else to tell */
    unsigned char *holes; /* [images] 1 for an image that is not stored and must not be read; owned; NULL: none */
    /* Reads the region densely into out[count][row1 - row0][columns]. Several threads may call it at once. */
    qb_status (*read)(qb__source *source, const qb__region *region, void *out);
    void (*release)(qb__source *source); /* frees the reader's own memory; may be NULL */
};

/* Allocates `bytes` for a reader's struct, which begins with its qb__source. */
qb_status qb__source_create(size_t bytes, const char *format, const char *path, void *out);
void qb__source_close(qb__source *source); /* NULL-safe */
/* Hands `made` on as *source if opening it succeeded; else closes it, and *source is NULL. Returns the status. */
qb_status qb__source_give(qb_status status, qb__source *made, qb__source **source);
/* Puts a sentence in front of source->files, which the user is told. */
__attribute__((format(printf, 2, 3))) void qb__source_tell(qb__source *source, const char *format, ...);
/* The format says that the file is a volume. The quantity stays as the file states it; if it states none, it becomes a
 * volume. */
void qb__source_is_volume(qb__source *source);
/* Whether a stated quantity is that of a volume. */
bool qb__volume_stated(const char *quantity);
size_t qb__source_row_bytes(const qb__source *source);
/* Do the integers of one of our own files stand for a range of values: value = low + step * number? */
bool qb__source_ranged(const qb__source *source, double *low, double *step);
/* Limits source->threads: at most as many as `env` computes with, and only as many as need 1/16 of its memory; one
 * thread if that share is below 64 MiB. qb__source_held returns the bytes that reading then needs. */
void qb__source_limit(qb__source *source, const qb_env *env);
size_t qb__source_held(const qb__source *source);
/* Into how many pieces a read or write of `bytes` is divided, each at least `least` bytes. With several threads there
 * are several pieces per thread, because pieces do not take the same time; with one thread there is 1 piece. */
size_t qb__pieces(size_t threads, size_t bytes, size_t least);
enum { QB__PIECE_LEAST = 1 << 20 }; /* bytes; a smaller copy takes less time than starting a thread */

/* Uncompressed data in one piece of a file. They are read with pread, without a lock. */
typedef struct qb__plain {
    const char *format;
    qb_dtype dtype;
    size_t shape[3];
    uint64_t offset;    /* offset of the first value in the file */
    size_t inside;      /* packed data: bytes of the unpacked stream before the first value */
    bool swap;          /* the file's byte order is not ours */
    bool fortran;       /* the first index runs fastest */
    const char *longer; /* remedy, if a file that is longer than the layout is refused; NULL: it is accepted */
    bool trailer;       /* bytes behind the data are accepted if they are fewer than one image */
} qb__plain;

/* QB_BAD_INPUT with both sizes if the file is shorter than the layout, or longer and `longer` refuses that. */
qb_status qb__plain_open(const char *path, const qb__plain *layout, qb__source **source);

/* qb__plain_open for data in one deflate stream (zlib or gzip), which is unpacked into memory. QB_UNSUPPORTED in builds
 * without zlib. */
qb_status qb__packed_open(const char *path, const qb__plain *layout, qb__source **source);
/* Unpacks the first `bytes` of the stream at the start of a file. */
qb_status qb__packed_head(const char *path, void *out, size_t bytes);
/* Unpacks the stream at `offset`, all of it or its first `most` bytes. The caller frees *out. */
qb_status qb__unpack_file(const char *path, uint64_t offset, size_t most, char **out, size_t *bytes);

/* For headers that say only that the data are at the end of the file `path`: sets layout->offset. QB_BAD_INPUT if the
 * file is shorter than the layout; `sizes` is the header's name for the sizes, for the message. */
qb_status qb__plain_at_end(const char *path, qb__plain *layout, const char *sizes);
/* Opens a file, reads `bytes` at `offset` and, if `swap` is set, reverses the bytes of numbers of `size` bytes. */
qb_status qb__pread_values(const char *path, uint64_t offset, size_t bytes, size_t size, bool swap, void *out);

/* Calls pread until `bytes` are read; QB_BAD_INPUT if the file ends before. */
qb_status qb__pread_all(int fd, const char *path, void *out, size_t bytes, uint64_t offset);
void qb__swap_bytes(void *values, size_t count, size_t size);
/* The size of a file. Every reader calls it before it reads, so it also records the file as an input (base/inputs.h).
 * QB_NOT_FOUND or QB_IO if there is no size. */
qb_status qb__file_size(const char *path, uint64_t *bytes);
/* Reads a whole small text file and adds a terminating 0. QB_BAD_INPUT if it is larger than `limit` bytes. */
qb_status qb__read_text(const char *path, size_t limit, char **text);
/* qb__read_text for a file that may hold zero bytes; also returns its size. */
qb_status qb__read_whole(const char *path, size_t limit, char **text, size_t *length);

/* QB_BAD_INPUT when one of images first, first + step, ... (count) of the list `index` (NULL: all) is a hole. */
qb_status qb__source_check_holes(const qb__source *source, const size_t *index, size_t first, size_t count,
                                 size_t step);

/* Replaces *source by its values times `slope` plus `offset`, as float32. The new source owns the old one. */
qb_status qb__source_scale(qb__source **source, double slope, double offset);
/* The same, where the stored number `missing` becomes NaN; NAN, or a number that the type does not have: none does.
 * Integers that are 0 stay. */
qb_status qb__source_values(qb__source **source, double slope, double offset, double missing);
/* Reads the signed integers that qb__source_values() made float32 as integers without a sign; false: it has none. */
bool qb__source_wrap(qb__source *source);
/* Replaces *source by the same values as float32. The new source owns the old one. */
qb_status qb__source_float(qb__source **source);

/* Makes a source of one float32 image of so many rows and columns with one value everywhere, in the file of `like`. */
qb_status qb__source_constant(const qb__source *like, const size_t image[2], double value, qb__source **source);

/* Replaces *source by its images with columns or rows in reverse order. The new source owns the old one. */
qb_status qb__source_mirror(qb__source **source, bool columns, bool rows);

/* Replaces *source by the same values, of which those above `limit` are not measured. The new source owns the old one. */
qb_status qb__source_limit_values(qb__source **source, double limit);

/* Some images of a source; `index` NULL means all, in order. */
typedef struct qb__frames {
    qb__source *source;
    size_t *index;
    size_t count;
} qb__frames;

void qb__frames_release(qb__frames *frames);
/* Reads frames first, first + step, ... of the list. Runs of frames that are evenly spaced in the file are read at
 * once. */
qb_status qb__frames_read(const qb__frames *frames, const qb__region *region, void *out);

/* Joins all parts into one stack, in order. The stack owns them: the parts are emptied, also on failure. QB_BAD_INPUT
 * if their images have different sizes. Different types become float32. */
qb_status qb__frames_join(qb__frames *parts, size_t count, qb__frames *out);

/* "cone" -> QB_BEAM_CONE; unknown for other words. */
qb_beam qb__beam_named(const char *name);
/* "counts" -> QB_COUNTS; auto for other words. */
qb_quantity qb__quantity_named(const char *name);

/* A list of sentences that grows, such as the problems of a scan or a list of file names. */
typedef struct qb__notes {
    char **text;
    qb_problem *kind; /* kind of each problem */
    size_t count, room;
    bool lost; /* some notes were lost because memory ran out */
} qb__notes;

/* Adds a note. If memory runs out, the note is lost and the call does not fail: check `lost` if that matters. */
__attribute__((format(printf, 3, 4))) void qb__note_of(qb__notes *notes, qb_problem kind, const char *format, ...);
#define qb__note(notes, ...) qb__note_of(notes, QB_PROBLEM_OTHER, __VA_ARGS__)
void qb__notes_release(qb__notes *notes);

/* Sample position along one axis, or its rotation about it. */
typedef struct qb__motion {
    double *position; /* [data.count]; NULL: not stated */
    double size;      /* mm or degrees of one unit of `position`; 0: the unit is not known */
    char from[160], unit[32];
} qb__motion;

/* Pixels of the detector that the file says are not measured, in the images as they are read. */
typedef struct qb__detector_mask {
    unsigned char *marks; /* [rows][columns] enum qb_pixel; NULL: none stated */
    size_t rows, columns;
    char from[160];
} qb__detector_mask;

/* What a reader knows about a scan. The struct owns everything in it. */
typedef struct qb__scan_parts {
    const char *format; /* NULL = that of data.source */
    qb__frames data, flats, darks;
    qb__detector_mask mask;
    double *angles;       /* [angle_count] radians or NULL */
    double angle_unit;    /* radians of one number of the file, as used for `angles`; 0: the format fixes the unit */
    char unit_wrong[256]; /* why the angles cannot be used unless the unit is given; "" */
    size_t angle_count;
    char angles_from[160];
    double pixel_size, pixel_v; /* mm; pixel_v 0: same as pixel_size */
    double energy, distance;    /* keV; mm from the object to the detector; 0: not stated */
    char beam_unset[450];       /* why the stated energy or distance cannot be used; "" */
    double sod, sdd;            /* mm from the source to the axis and to the detector; 0: not stated */
    bool detector_stated;       /* detector[] has values from the file */
    bool rows_down;             /* rows count downwards, as the scanner stores them */
    /* offset in mm along u and v from the principal ray to the detector's middle; its roll and its tilt out of its plane
     * in degrees */
    double detector[4];
    char pixel_from[160];
    double center;
    bool center_holds;   /* same meaning as in qb_scan_info */
    size_t first_slice;  /* number that the scan's own files give to detector row 0 */
    char quantity[24];   /* "" = not stated */
    double *intensity;   /* [data.count] beam intensity of each view divided by that of its flats; NULL: not stated */
    bool intensity_mean; /* relative to the mean over the views, because the intensity of the flats is not known */
    char intensity_from[160];
    double *flat_intensity; /* [flats.count] beam intensity of each flat divided by their mean; NULL: not stated */
    double *flat_views;     /* [flats.count] the stored view before which each flat was taken; NULL: not stated */
    qb__motion motion[6];   /* translation along x, y, z; rotation about x, y, z */
    /* [data.count][2] columns and rows by which the images are shifted, as in --shifts; NULL: none */
    double *shifts;
    char *placed;       /* a geometry file: the file of a cone beam that states the source positions; NULL: none */
    char unusable[440]; /* why the fields of the file cannot be used; an error if the data are counts; "" */
    qb__notes notes;
} qb__scan_parts;

void qb__scan_parts_release(qb__scan_parts *parts);

/* The layer of chunks, and the chunk in it, that is read as number `piece` of layers * chunks. `threads` layers take
 * turns, so that threads do not write to the same pages of memory at the same time. */
size_t qb__layer_turn(size_t piece, size_t layers, size_t chunks, size_t threads, size_t *chunk);

/* Images that qb__source_read_changed takes at once: some MB, or one layer of chunks. `image`: bytes of a stored one. */
size_t qb__source_images_at_once(const qb__source *stored, size_t image);
/* Reads the region as floats and passes the numbers of each image to `change`. */
typedef void qb__source_change(const void *self, size_t image, const qb__region *region, float *values, size_t count);
qb_status qb__source_read_changed(qb__source *stored, const qb__region *region, const void *self,
                                  qb__source_change *change, float *out);
