/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SOURCE_H
#define QB_IO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/warning.h"
#include "quickbeam/array.h"
#include "quickbeam/scan.h"

/* What every reader turns a file into: a stack of images of which any rows can be asked for. */
typedef struct qb__source qb__source;

/* Images first, first + step, ... (count of them), their rows row0 <= row < row1, all columns. */
typedef struct qb__region {
    size_t first, count, step;
    size_t row0, row1;
} qb__region;

struct qb__source {
    const char *format; /* "NPY" */
    char *path;         /* its name in messages; owned */
    qb_dtype dtype;
    size_t shape[3];   /* images, rows, columns */
    size_t chunk[3];   /* storage comes in pieces like this, costly to read twice; 1,1,1: none */
    size_t cache;      /* bytes that reading holds besides its result */
    size_t cache_each; /* further bytes for each thread that unpacks */
    size_t threads;    /* threads that one read() may use; at first the number of CPUs, at most 16 */
    /* Bytes a second that read() computes of what is stored nowhere, measured once; NULL: it is stored. */
    double (*computes)(qb__source *source);
    double voxel[3];      /* mm along x, y, z; 0 = unknown */
    double offset[3];     /* mm: world position of a volume's centre; 0 where the file does not say */
    bool turned;          /* the file says that its axes are not x, y, z */
    double scale[2];      /* integers of ours: the values that 0 and the largest stand for; equal = none */
    char quantity[24];    /* quantity as the file states it; "" when it does not */
    char units[24];       /* units as the file states them, such as "1/mm"; "" */
    qb_beam beam;         /* beam as the file states it */
    char trouble[160];    /* one sentence on what is odd about it; "" */
    char files[340];      /* several files: their number, the first and the last name; otherwise "" */
    unsigned char *holes; /* [images] 1 for an image that lies nowhere, and must not be read; owned, NULL: none */
    /* Dense into out[count][row1 - row0][columns]. Any number of threads at once. */
    qb_status (*read)(qb__source *source, const qb__region *region, void *out);
    void (*release)(qb__source *source); /* the reader's own things; may be NULL */
};

/* `bytes` for a reader's struct, which begins with its qb__source. */
qb_status qb__source_create(size_t bytes, const char *format, const char *path, void *out);
void qb__source_close(qb__source *source); /* NULL-safe */
/* The format says that it is a volume; what of is for the file to state. */
void qb__source_is_volume(qb__source *source);
/* Whether such a quantity is a volume's. */
bool qb__volume_stated(const char *quantity);
size_t qb__source_row_bytes(const qb__source *source);
/* Do integers of our own files stand for a range of values: value = low + step * number? */
bool qb__source_ranged(const qb__source *source, double *low, double *step);
/* Threads as many as `env` computes with, and no more than may hold what each needs in 1/16 of its
 * memory; one, where that is below 64 MiB. What reading holds then: qb__source_held. */
void qb__source_limit(qb__source *source, const qb_env *env);
size_t qb__source_held(const qb__source *source);
/* In how many pieces to read or write so many bytes, none below `least`: several for each thread, as they
 * do not take the same time; 1 for one thread. */
size_t qb__pieces(size_t threads, size_t bytes, size_t least);
enum { QB__PIECE_LEAST = 1 << 20 }; /* bytes; copying less takes no longer than starting a thread */

/* Uncompressed data in one piece of a file: read by pread, no lock. */
typedef struct qb__plain {
    const char *format;
    qb_dtype dtype;
    size_t shape[3];
    uint64_t offset;    /* offset of the first value in the file */
    size_t inside;      /* packed data: bytes of the unpacked stream before the first value */
    bool swap;          /* the file's byte order is not ours */
    bool fortran;       /* the first index runs fastest */
    const char *longer; /* remedy, if a file that is longer than the layout is refused; NULL: it is accepted */
    bool trailer;       /* less than one image more may be behind the data */
} qb__plain;

/* QB_BAD_INPUT with both numbers when the file is shorter than the layout says, or longer where that is refused. */
qb_status qb__plain_open(const char *path, const qb__plain *layout, qb__source **source);

/* The same for data in one stream of deflate, zlib's or gzip's, which is unpacked into memory. QB_UNSUPPORTED in builds
 * without zlib. */
qb_status qb__packed_open(const char *path, const qb__plain *layout, qb__source **source);
/* The first bytes of such a stream that the file begins with. */
qb_status qb__packed_head(const char *path, void *out, size_t bytes);
/* All of such a stream from there on, or its first `most` bytes; *out is the caller's to free. */
qb_status qb__unpack_file(const char *path, uint64_t offset, size_t most, char **out, size_t *bytes);

/* For headers that say only that the data are the end of the file `path`: where they begin. QB_BAD_INPUT when the file
 * is shorter than the layout; `sizes` is the header's word for that. */
qb_status qb__plain_at_end(const char *path, qb__plain *layout, const char *sizes);
/* Opens a file, reads `bytes` from there and swaps the bytes of numbers of `size` bytes, if asked. */
qb_status qb__pread_values(const char *path, uint64_t offset, size_t bytes, size_t size, bool swap, void *out);

/* pread until `bytes` are there; QB_BAD_INPUT when the file ends before. */
qb_status qb__pread_all(int fd, const char *path, void *out, size_t bytes, uint64_t offset);
void qb__swap_bytes(void *values, size_t count, size_t size);
/* The file's bytes, asked for before anything is read: a file that is looked at is an input
 * (base/inputs.h). QB_NOT_FOUND or QB_IO when it has none. */
qb_status qb__file_size(const char *path, uint64_t *bytes);
/* The whole of a small text file, with a 0 behind it. QB_BAD_INPUT when it is above `limit` bytes.
 */
qb_status qb__read_text(const char *path, size_t limit, char **text);
/* qb__read_text for a file that may hold zero bytes; also returns its size. */
qb_status qb__read_whole(const char *path, size_t limit, char **text, size_t *length);

/* QB_BAD_INPUT when one of images first, first + step, ... (count) of the list `index` (NULL: all) is a hole. */
qb_status qb__source_check_holes(const qb__source *source, const size_t *index, size_t first, size_t count,
                                 size_t step);

/* *source with its values times `slope` plus `offset`, as float32; it owns the one before. */
qb_status qb__source_scale(qb__source **source, double slope, double offset);
/* The same numbers, as float32. */
qb_status qb__source_float(qb__source **source);

/* One image of one number, of the size of those of `like`; float32. */
qb_status qb__source_constant(const qb__source *like, double value, qb__source **source);

/* *source with columns or rows of its images in reverse order; it owns the one before. */
qb_status qb__source_mirror(qb__source **source, bool columns, bool rows);

/* Some images of a source; `index` NULL means all, in order. */
typedef struct qb__frames {
    qb__source *source;
    size_t *index;
    size_t count;
} qb__frames;

void qb__frames_release(qb__frames *frames);
/* Frames first, first + step, ... of the list. Runs that lie evenly in the file are read at once.
 */
qb_status qb__frames_read(const qb__frames *frames, const qb__region *region, void *out);

/* One stack of all, in order, which owns them: parts are emptied, also on failure. QB_BAD_INPUT where their images have
 * different sizes; of different types they become floats. */
qb_status qb__frames_join(qb__frames *parts, size_t count, qb__frames *out);

/* "cone" -> QB_BEAM_CONE; unknown for other words. */
qb_beam qb__beam_named(const char *name);
/* "counts" -> QB_COUNTS; auto for other words. */
qb_quantity qb__quantity_named(const char *name);

/* A list of sentences that grows. */
typedef struct qb__notes {
    char **text;
    qb_problem *kind; /* kind of each problem */
    size_t count, room;
    bool lost; /* some, for want of memory */
} qb__notes;

/* Running out of memory here loses the note, not the call: look at `lost` where that matters. */
__attribute__((format(printf, 3, 4))) void qb__note_of(qb__notes *notes, qb_problem kind, const char *format, ...);
#define qb__note(notes, ...) qb__note_of(notes, QB_PROBLEM_OTHER, __VA_ARGS__)
void qb__notes_release(qb__notes *notes);

/* Where the sample stood along or about one axis. */
typedef struct qb__motion {
    double *position; /* [data.count]; NULL: not stated */
    double size;      /* mm or degrees of 1 of them; 0: the unit is not known */
    char from[160], unit[32];
} qb__motion;

/* What a reader knows about a scan. Everything in it is owned by it. */
typedef struct qb__scan_parts {
    const char *format; /* NULL = that of data.source */
    qb__frames data, flats, darks;
    double *angles;       /* [angle_count] radians or NULL */
    double angle_unit;    /* radians of one of the file's numbers, as they were taken; 0: the format fixes it */
    char unit_wrong[256]; /* why they cannot be used unless it is given; "" */
    size_t angle_count;
    char angles_from[160];
    double pixel_size, pixel_v; /* mm; pixel_v 0: the same */
    double energy, distance;    /* keV; mm from the object to the detector; 0: not stated */
    char beam_unset[450];       /* why the stated energy or distance cannot be used; "" */
    double sod, sdd;            /* mm from the source to the axis and to the detector; 0: not stated */
    bool detector_stated;       /* detector[] has values from the file */
    /* offset in mm along u and v from the principal ray to the detector's middle, and its roll in degrees */
    double detector[3];
    char pixel_from[160];
    double center;
    bool center_holds;  /* same meaning as in qb_scan_info */
    size_t first_slice; /* what its own files call detector row 0 */
    char quantity[24];  /* "" = not stated */
    double *intensity;  /* [data.count] of the beam in each view, over that in its own flats; NULL: not stated */
    char intensity_from[160];
    double *flat_intensity; /* [flats.count] of the beam in each flat, over their mean; NULL: not stated */
    double *flat_views;     /* [flats.count] the stored view before which each flat was taken; NULL: not stated */
    qb__motion motion[6];   /* along x, y, z; about them */
    double *shifts;     /* [data.count][2] columns and rows by which images lie too far on, as --shifts; NULL: none */
    char *placed;       /* the file of a cone beam that says where its source is: a geometry file, too; NULL: none */
    char unusable[440]; /* why fields that are there cannot be used, which matters for counts; "" */
    qb__notes notes;
} qb__scan_parts;

void qb__scan_parts_release(qb__scan_parts *parts);

#endif
