/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "io/publish/publication.h"
#include "quickbeam/io.h"

/* Where the other ranks of a job write their images in the output that rank 0 has created (writer.c). Ranks send
 * it to each other as bytes. */
typedef struct qb__writer_location {
    char fresh[4096]; /* the temporary file, or the staging folder with files; it gets its final name at the end */
    uint64_t data_offset;
    size_t files;                   /* files in that folder; 0: `fresh` is a file */
    uint64_t offset[QB_PARTS_MOST]; /* offset of the images in each file, if there are few */
} qb__writer_location;

/* The functions of one output format. The code common to all formats handles the staging folder (publication.h), the
 * check of free space, writing images by pwrite at data_offset, fsync and the final name. Each function may be NULL. */
typedef struct qb__writer_kind {
    /* Whether the output is a folder of files, which begin() creates. Otherwise it is one file, which is empty and open
     * as writer->fd. */
    bool (*spread)(const qb_writer *writer);
    /* Writes everything but the images, and sets data_offset. If writer->taken_up is set, the file is as an earlier run
     * began it. begin() must not change it: it may belong to another job. */
    qb_status (*begin)(qb_writer *writer);
    /* Writes images, for formats that do not use pwrite to writer->fd. */
    qb_status (*write)(qb_writer *writer, size_t first, size_t end, const void *data);
    /* Called when all images are written: adds the provenance, or "". */
    qb_status (*finish)(qb_writer *writer, const char *provenance);
    void (*release)(qb_writer *writer); /* frees the format's own memory; also called after a failed begin() */
    /* For formats of several files. place() returns the staging folder or file and fills in the rest of the location.
     * join() opens these files in another process, instead of begin(). */
    const char *(*place)(const qb_writer *writer, qb__writer_location *place);
    qb_status (*join)(qb_writer *writer, const qb__writer_location *place);
    size_t (*overhead)(const qb_writer *writer); /* upper limit of the bytes on disk besides the images */
    size_t (*each)(const qb_writer *writer);     /* bytes of memory that each thread needs while it writes */
    /* For formats of several files: whether the given images (a bit each) are complete. NULL: they are in writer->fd,
     * and its length is checked. */
    bool (*has)(const qb_writer *writer, const unsigned char *images);
    bool resumes;                    /* a run that was stopped can be resumed */
    bool keeps_fields, keeps_angles; /* whether the format holds flats and darks, and angles, of projections */
    bool keeps_mask;                 /* whether the format holds which pixels were not measured */
    bool keeps_axis;                 /* whether the format holds the axis of a parallel beam */
    const char *packs;               /* methods for qb_stack.compress, such as " gzip zstd "; NULL: none */
    /* For formats of several files with different names: the name of file `number`, counted from 0, that is written with
     * PATH; false: there are no more. It need not be checked whether it fits. */
    bool (*also)(const char *path, size_t number, char *name, size_t room);
    bool parts; /* can spread images over qb_stack.parts files */
} qb__writer_kind;

/* Refuses a compression that the format does not have. */
qb_status qb__packing_check(const char *path, const qb_stack *stack, const qb__writer_kind *kind);

struct qb_writer {
    const qb__writer_kind *kind;
    qb_stack stack; /* text and angles are copies; flats and darks are gone after begin() */
    char *path;
    qb__publication *set; /* the file set that gives files their names; NULL: the caller does it */
    bool own_set;         /* the file set belongs to this writer and holds only its output */
    bool taken_up;        /* the output was begun by a run that was stopped, and is resumed */
    const char *part;     /* the file in the staging folder; owned by the set */
    int fd;
    uint64_t data_offset;
    size_t image_bytes;
    size_t threads;              /* threads that one write may use, for formats of several files */
    unsigned char *written;      /* a bit for each image that is written */
    double *angles;              /* owned copy of stack.angles */
    qb__writer_location *joined; /* set if another rank created the output; NULL: this one did */
    void *own;
};

extern const qb__writer_kind qb__hdf5_writer, qb__tiff_writer, qb__mha_writer, qb__mrc_writer, qb__npy_writer,
    qb__nrrd_writer, qb__raw_writer, qb__nifti_writer, qb__vol_writer, qb__den_writer, qb__zarr_writer,
    qb__dicom_writer, qb__mbirct_writer, qb__simulated_writer, qb__nothing_writer, qb__tensor_writer;
