/* SPDX-License-Identifier: MIT */
#include "io/zarr/zarr_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"

enum { PAGE = 4096 };

size_t qb__zarr_spool_stride(const qb__zarr_spool *s) { return qb__round_up(s->image, PAGE); }

static uint64_t place(const qb__zarr_spool *s, size_t image) {
    return s->offset + (uint64_t)image * qb__zarr_spool_stride(s);
}

qb_status qb__zarr_spool_open(const char *folder, int level, const qb__zarr_array *a, const char *path, bool fresh,
                              qb__zarr_spool *s) {
    char name[4096];
    *s = (qb__zarr_spool){.fd = -1,
                          .image = a->shape[1] * a->shape[2] * qb_dtype_size(a->dtype),
                          .layers = qb__ceil_div(a->shape[0], a->file[0]),
                          .thick = a->file[0],
                          .path = path};
    /* States of different layers may be written by different machines. */
    s->offset = (uint64_t)s->layers * PAGE;
    snprintf(name, sizeof name, "%s/.spool-%d", folder, level);
    s->fd = open(name, O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0), 0666);
    if (s->fd < 0) return qb__fail_errno(errno, fresh ? "creating" : "opening", name);
    if (fresh && ftruncate(s->fd, (off_t)place(s, s->layers * s->thick)) != 0) return qb__fail_writing(errno, path);
    return QB_OK;
}

void qb__zarr_spool_close(qb__zarr_spool *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

qb_status qb__zarr_spool_put(const qb__zarr_spool *s, size_t first, size_t end, const void *images) {
    qb_status status = QB_OK;
    for (size_t i = first; i < end && status == QB_OK; i++)
        status = qb__pwrite_all(s->fd, s->path, (const char *)images + (i - first) * s->image, s->image, place(s, i));
    return status;
}

qb_status qb__zarr_spool_state(const qb__zarr_spool *s, size_t layer, qb__zarr_state *state) {
    unsigned char byte = 0;
    ssize_t got;
    do got = pread(s->fd, &byte, 1, (off_t)(layer * PAGE));
    while (got < 0 && errno == EINTR);
    *state = (qb__zarr_state)byte;
    return got < 0 ? qb__fail_errno(errno, "reading", s->path) : QB_OK;
}

qb_status qb__zarr_spool_mark(const qb__zarr_spool *s, size_t layer, qb__zarr_state state) {
    const unsigned char byte = (unsigned char)state;
    return qb__pwrite_all(s->fd, s->path, &byte, 1, layer * PAGE);
}

qb_status qb__zarr_spool_map(const qb__zarr_spool *s, size_t layer, const char **images) {
    void *at = mmap(NULL, s->thick * qb__zarr_spool_stride(s), PROT_READ, MAP_SHARED, s->fd,
                    (off_t)place(s, layer * s->thick));
    *images = at == MAP_FAILED ? NULL : at;
    return *images ? QB_OK : qb__fail_errno(errno, "reading back", s->path);
}

void qb__zarr_spool_unmap(const qb__zarr_spool *s, const char *images) {
    if (images) munmap((void *)images, s->thick * qb__zarr_spool_stride(s));
}

void qb__zarr_spool_drop(const qb__zarr_spool *s, size_t layer) {
#ifdef FALLOC_FL_PUNCH_HOLE
    const off_t bytes = (off_t)(s->thick * qb__zarr_spool_stride(s));
    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)place(s, layer * s->thick), bytes) != 0)
        return; /* it goes with the file */
#else
    (void)s, (void)layer;
#endif
}
