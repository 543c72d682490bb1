/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_WRITER_H
#define QB_IO_WRITER_H

#include <stdint.h>

#include "io/publication.h"
#include "quickbeam/io.h"

/* What a format does to be written. The rest is the same for all: the hidden folder (publication.h),
 * the free space, images by pwrite to data_offset, fsync, the name. Each may be NULL. */
typedef struct qb__writer_kind {
    /* Whether the path stands for files in a folder, which begin() sees to; else there is one, empty
     * and open as writer->fd. */
    bool (*spread)(const qb_writer *writer);
    /* Write all but the images; set data_offset. */
    qb_status (*begin)(qb_writer *writer);
    /* Instead of pwrite into writer->fd. */
    qb_status (*write)(qb_writer *writer, size_t first, size_t end, const void *data);
    /* The images are there: add the provenance, or "" */
    qb_status (*finish)(qb_writer *writer, const char *provenance);
    void (*release)(qb_writer *writer);          /* own memory; also after a failed begin() */
    size_t (*overhead)(const qb_writer *writer); /* bytes besides the images, at most */
    bool keeps_fields, keeps_angles; /* of projections; others are left out of the file */
    bool parts;                      /* can spread images over qb_stack.parts files */
} qb__writer_kind;

struct qb_writer {
    const qb__writer_kind *kind;
    qb_stack stack; /* text and angles are copies; flats and darks are gone after begin() */
    char *path;
    qb__publication *set; /* what gives the names; NULL: the caller sees to it */
    bool own_set;         /* of this file alone */
    const char *part;     /* what is written until then; the set's */
    int fd;
    uint64_t data_offset;
    size_t image_bytes;
    size_t threads;         /* that one write may use, where there are several files */
    unsigned char *written; /* a bit for each image */
    double *angles;         /* behind stack.angles */
    void *own;
};

/* As qb_writer_create and qb_writer_commit, but the file gets its name together with the others of
 * `set`, whose commit is the caller's; or, where set is NULL, is made as `part` and stays there. */
qb_status qb__writer_create(qb__publication *set, const char *part, const char *path,
                            const qb_stack *stack, qb_writer **writer);
/* Whole and on the disk. Destroys the writer, also on failure. */
/* qb_writer_write, for which images that are in their place already (data NULL) count as written. */
qb_status qb__writer_write(qb_writer *writer, size_t first, size_t end, const void *data);
qb_status qb__writer_finish(qb_writer *writer, const char *provenance);

extern const qb__writer_kind qb__hdf5_writer, qb__tiff_writer, qb__mha_writer, qb__npy_writer,
    qb__raw_writer, qb__tensor_writer;

/* Threads as many as `env` computes with. */
void qb__writer_limit(qb_writer *writer, const qb_env *env);
/* Images to where they belong in writer->fd. */
qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data);
bool qb__stack_is_projections(const qb_stack *stack);
qb_status qb__pwrite_all(int fd, const char *path, const void *data, size_t bytes, uint64_t offset);
/* qb__fail_errno; a file that may not grow is a lack of space, too. */
qb_status qb__fail_writing(int error, const char *path);
/* Start writing dirty pages to the disk, so that the last fsync is short. */
void qb__start_writeback(int fd, uint64_t offset, size_t bytes);

/* Whether the last part of a path holds a number to fill in: name_%05d.tif. */
bool qb__has_number(const char *path);
/* Of a file whose images are in parts (qb_stack.parts): PATH.parts, links followed, to release with qb__free; and
 * the name of part `part` in it. */
qb_status qb__parts_folder(const char *path, char **folder);
qb_status qb__part_name(const char *path, size_t part, char *name, size_t room);
/* What tells the hidden folders of one run from those of another: PID-CLOCK. */
void qb__part_tag(char *tag, size_t room);
/* "." when there is none; release with qb__free, NULL when memory is out. */
char *qb__folder_of(const char *path);
/* Whether two names stand for one file, or will once it is there: links are followed. */
qb_status qb__same_place(const char *a, const char *b, bool *same);
/* Where a name leads, links followed to the last, whether or not there is a file: what is written
 * there leaves the links as they are. Release with qb__free. */
qb_status qb__target_of(const char *path, char **target);
/* QB_BAD_ARGUMENT when what is there is no regular file: a pipe, a device, a folder. */
qb_status qb__target_check(const char *path);
/* QB_NO_SPACE, naming both numbers, when `folder` has less room than `bytes`. */
qb_status qb__check_space(const char *folder, const char *path, uint64_t bytes);

/* Can a picture be written there? Its folder exists and may be written to, and this build has PNG. */
qb_status qb__preview_check(const char *path);
/* The values that a picture shows black and white: 0.5 and 99.5 percentiles of those that are numbers. */
qb_status qb__grey_window(const float *values, size_t count, double *low, double *high);
/* qb_preview_write as one of a set. */
qb_status qb__preview_write(qb__publication *set, const char *path, const float *image, size_t nx,
                            size_t ny, double low, double high);

/* Everything about the stack and its provenance as one JSON object; release with qb__free. */
qb_status qb__stack_json(const qb_writer *writer, const char *provenance, char **text);
/* That object into what becomes PATH.json together with the data. */
qb_status qb__write_sidecar(qb_writer *writer, const char *provenance);

#endif
