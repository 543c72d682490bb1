/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_WRITER_KIND_H
#define QB_IO_WRITER_KIND_H

#include <stdint.h>

#include "io/publish/publication.h"
#include "quickbeam/io.h"

/* Where images go in what rank 0 of a job has made, for its other ranks (writer_join.c): bytes that can be sent. */
typedef struct qb__writer_location {
    char fresh[4096]; /* the file that will get the name, or the folder of files */
    uint64_t data_offset;
    size_t files;                   /* files in that folder; 0 = `fresh` is a file */
    uint64_t offset[QB_PARTS_MOST]; /* offset of the images in each file, if there are few */
} qb__writer_location;

/* What a format does when it is written. Common to all formats are: the staging folder (publication.h), free space,
 * images by pwrite to data_offset, fsync, the name. Each entry may be NULL. */
typedef struct qb__writer_kind {
    /* Whether the path stands for files in a folder, which begin() sees to; else there is one, empty
     * and open as writer->fd. */
    bool (*spread)(const qb_writer *writer);
    /* Write all but the images; set data_offset. What is `taken_up` is as an earlier run began it, and
     * stays so: it may belong to another job. */
    qb_status (*begin)(qb_writer *writer);
    /* Instead of pwrite into writer->fd. */
    qb_status (*write)(qb_writer *writer, size_t first, size_t end, const void *data);
    /* The images are there: add the provenance, or "" */
    qb_status (*finish)(qb_writer *writer, const char *provenance);
    void (*release)(qb_writer *writer); /* own memory; also after a failed begin() */
    /* Where a format has several files: say where (all but `fresh`, the last of the set otherwise), and open them
     * in another process instead of begin(). */
    const char *(*place)(const qb_writer *writer, qb__writer_location *place);
    qb_status (*join)(qb_writer *writer, const qb__writer_location *place);
    size_t (*overhead)(const qb_writer *writer); /* bytes besides the images, at most */
    size_t (*each)(const qb_writer *writer);     /* bytes of memory that each thread of a write holds */
    /* Whether those images, a bit each, are there whole, where there are several files; NULL: they are in writer->fd,
     * which is as long as that takes. */
    bool (*has)(const qb_writer *writer, const unsigned char *images);
    bool resumes;                    /* an output of one file, or of a series, can be gone on with */
    bool keeps_fields, keeps_angles; /* whether the format holds flats and darks, and angles, of projections */
    bool keeps_axis;                 /* whether the format holds the axis of a parallel beam */
    const char *packs; /* " gzip zstd ": what it can be compressed by (qb_stack.compress); NULL: nothing */
    bool parts;        /* can spread images over qb_stack.parts files */
} qb__writer_kind;

/* Refuses a compression that files of a kind do not have. */
qb_status qb__packing_check(const char *path, const qb_stack *stack, const qb__writer_kind *kind);

struct qb_writer {
    const qb__writer_kind *kind;
    qb_stack stack; /* text and angles are copies; flats and darks are gone after begin() */
    char *path;
    qb__publication *set; /* gives files their names; NULL: the caller does */
    bool own_set;         /* the file set has this file only */
    bool taken_up;        /* begun by a run that was stopped */
    const char *part;     /* the file in the staging folder; owned by the set */
    int fd;
    uint64_t data_offset;
    size_t image_bytes;
    size_t threads;              /* threads that one write may use for several files */
    unsigned char *written;      /* a bit for each image */
    double *angles;              /* behind stack.angles */
    qb__writer_location *joined; /* set if another rank created the output; NULL: this one did */
    void *own;
};

extern const qb__writer_kind qb__hdf5_writer, qb__tiff_writer, qb__mha_writer, qb__mrc_writer, qb__npy_writer,
    qb__nrrd_writer, qb__raw_writer, qb__nifti_writer, qb__vol_writer, qb__den_writer, qb__zarr_writer,
    qb__dicom_writer, qb__mbirct_writer, qb__simulated_writer, qb__nothing_writer, qb__tensor_writer;

#endif
