/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_PARTS_H
#define QB_IO_HDF5_PARTS_H

/* Inside a build with HDF5 only. */
#include <hdf5.h>

#include "io/writer.h"

/* One HDF5 volume over N files: one file takes a few GB/s however many threads write it, a file a thread
 * many times that. NAME.h5 is small; its /exchange/data is a virtual dataset of NAME.h5.parts/00.h5, 01.h5, ...,
 * in which image i is number i / N of part i % N, so that neighbouring images go to different files.
 * The folder and the file get their names together. */
typedef struct qb__h5_parts {
    size_t count;
    int *fd;          /* [count] */
    uint64_t *offset; /* [count] of the images in each file */
    char *folder;     /* NAME.h5.parts as NAME.h5 has to call it: without what is before the last / */
    char *
        fresh; /* the folder until then: `parts` in the hidden folder of the file (staging.h), which can be gone on with as one;
                         another one of the set's where that is on another disk */
    bool staged; /* the former */
    char id[40]; /* QB__H5_ID: of the volume, in its file as in each part, so that none is taken for another */
} qb__h5_parts;

/* The folder, as one of the writer's set, and its files; no images yet. QB_BAD_ARGUMENT when it is there
 * and holds what would stay beside the new parts. Release it also on failure. */
qb_status qb__h5_parts_begin(qb_writer *writer, qb__h5_parts *parts);
/* Where the parts are, for another process, which joins instead of beginning. */
void qb__h5_parts_locate(const qb__h5_parts *parts, qb__writer_location *place);
qb_status qb__h5_parts_join(qb__h5_parts *parts, const qb__writer_location *place);
qb_status qb__h5_parts_write(const qb_writer *writer, const qb__h5_parts *parts, size_t first, size_t end,
                             const void *data);
/* Go on with the parts of a stopped run. QB_BAD_INPUT if they belong to another stack. */
qb_status qb__h5_parts_resume(qb_writer *writer, qb__h5_parts *parts);
/* Sync the parts to the disk and close them. */
qb_status qb__h5_parts_finish(qb_writer *writer, qb__h5_parts *parts);
/* Move the parts into the folder that is published with the set. */
qb_status qb__h5_parts_move(qb_writer *writer, qb__h5_parts *parts);
void qb__h5_parts_release(qb__h5_parts *parts);
/* What makes a dataset of the stack's shape one of those files; with the lock. Close it. */
hid_t qb__h5_parts_layout(const qb__h5_parts *parts, const qb_stack *stack, hid_t type);

/* What the rest of the file's writer lends (hdf5_put.c, hdf5_fill.c); with the lock but for the first. */
qb_status qb__h5_reserve(int fd, const char *path, uint64_t images, uint64_t room);
bool qb__h5_put_text(hid_t object, const char *name, const char *text);
bool qb__h5_put_string(hid_t file, const char *path, const char *text); /* a dataset */
/* All that the file has but its provenance; the images' dataset is empty. `degrees`: of the views, or NULL. */
bool qb__h5_fill(hid_t file, qb_writer *writer, const double *degrees);
bool qb__h5_put_number(hid_t object, const char *name, double number);
/* A new dataset, with data or with room for them; negative on failure. `layout` is its creation list,
 * or H5P_DEFAULT: early allocation, nothing filled in. */
hid_t qb__h5_make_set(hid_t file, const char *path, hid_t type, int rank, const size_t *shape, const void *data,
                      hid_t layout);

#endif
