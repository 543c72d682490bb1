/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Images that wait until their layer is complete: formats whose chunks hold several images pack a layer at once. The
 * images are in a file in the staging folder, aligned to pages, so that processes on several machines never share a
 * page. A state for each layer precedes them. */
typedef enum qb__layer_state {
    QB__SPOOL_OPEN,    /* some of its images are missing, or not packed yet */
    QB__SPOOL_PACKED,  /* its chunks are written */
    QB__SPOOL_FLUSHED, /* chunks are on the disk; its images were removed from the spool */
} qb__layer_state;

typedef struct qb__spool {
    int fd;
    size_t image, images; /* bytes of an image; number of images */
    size_t layers, thick; /* number of layers; images per layer */
    uint64_t offset;
    const char *path; /* path for messages; not owned */
} qb__spool;

/* Open the file `name`, for `images` of `image` bytes in layers of `thick`. `fresh`: create it, else it exists. */
qb_status qb__spool_open(const char *name, size_t images, size_t image, size_t thick, const char *path, bool fresh,
                         qb__spool *spool);
void qb__spool_close(qb__spool *spool);
size_t qb__spool_stride(const qb__spool *spool);

qb_status qb__spool_put(const qb__spool *spool, size_t first, size_t end, const void *images);
qb_status qb__spool_state(const qb__spool *spool, size_t layer, qb__layer_state *state);
qb_status qb__spool_mark(const qb__spool *spool, size_t layer, qb__layer_state state);
/* The images of a layer, stride apart; never NULL with QB_OK. Release with qb__spool_unmap. */
qb_status qb__spool_map(const qb__spool *spool, size_t layer, const char **images);
void qb__spool_unmap(const qb__spool *spool, const char *images);
/* Free their space on the disk, if the file system can do that. */
void qb__spool_drop(const qb__spool *spool, size_t layer);

/* Write images first..end-1 of `data`. Layers that are complete then are packed by `pack`: several at once from `data`
 * if this write has all of them, else one from the spool (NULL). `written`: a bit for each image of earlier writes. */
typedef qb_status qb__spool_pack(void *context, size_t layer, size_t layers, const char *data);
qb_status qb__spool_write(const qb__spool *spool, const unsigned char *written, size_t first, size_t end,
                          const void *data, qb__spool_pack *pack, void *context);
/* After a crash, chunks may be missing that were packed but not recorded in `images` (a bit each): such layers are
 * packed again. False: the spool cannot be read or written. */
bool qb__spool_reopen(const qb__spool *spool, const unsigned char *images);
