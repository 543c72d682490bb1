/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_ZARR_SPOOL_H
#define QB_IO_ZARR_SPOOL_H

#include "io/zarr/zarr.h"

/* Images of a level that wait until their layer is whole: the file .spool-LEVEL in the folder that is being made. Images lie at whole
 * pages, so that processes on several machines never share one. In front of them is a state for each layer. */
typedef enum qb__zarr_state {
    QB__ZARR_OPEN,    /* some of its images are missing, or are not packed yet */
    QB__ZARR_PACKED,  /* its files are there */
    QB__ZARR_FLUSHED, /* and on the disk; its images are gone from the spool */
} qb__zarr_state;

typedef struct qb__zarr_spool {
    int fd;
    size_t image, layers, thick; /* bytes of an image; layers; images of one */
    uint64_t offset;
    const char *path; /* for messages; not owned */
} qb__zarr_spool;

/* `fresh`: it is made anew, else it is there. */
qb_status qb__zarr_spool_open(const char *folder, int level, const qb__zarr_array *array, const char *path, bool fresh,
                              qb__zarr_spool *spool);
void qb__zarr_spool_close(qb__zarr_spool *spool);
size_t qb__zarr_spool_stride(const qb__zarr_spool *spool);

qb_status qb__zarr_spool_put(const qb__zarr_spool *spool, size_t first, size_t end, const void *images);
qb_status qb__zarr_spool_state(const qb__zarr_spool *spool, size_t layer, qb__zarr_state *state);
qb_status qb__zarr_spool_mark(const qb__zarr_spool *spool, size_t layer, qb__zarr_state state);
/* The images of a layer, stride apart; QB_OK with NULL never. qb__zarr_spool_unmap them. */
qb_status qb__zarr_spool_map(const qb__zarr_spool *spool, size_t layer, const char **images);
void qb__zarr_spool_unmap(const qb__zarr_spool *spool, const char *images);
/* Their room on the disk is free again, where the file system can do that. */
void qb__zarr_spool_drop(const qb__zarr_spool *spool, size_t layer);

#endif
