/* SPDX-License-Identifier: MIT */
#include "io/layer/spool.h"

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

size_t qb__spool_stride(const qb__spool *s) { return qb__round_up(s->image, PAGE); }

static uint64_t place(const qb__spool *s, size_t image) { return s->offset + (uint64_t)image * qb__spool_stride(s); }

qb_status qb__spool_open(const char *name, size_t images, size_t image, size_t thick, const char *path, bool fresh,
                         qb__spool *s) {
    *s = (qb__spool){.fd = -1,
                     .image = image,
                     .images = images,
                     .layers = qb__ceil_div(images, thick),
                     .thick = thick,
                     .path = path};
    /* Different machines may write the states of different layers. */
    s->offset = (uint64_t)s->layers * PAGE;
    s->fd = open(name, O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0), 0666);
    if (s->fd < 0) return qb__fail_errno(errno, fresh ? "creating" : "opening", name);
    if (fresh && ftruncate(s->fd, (off_t)place(s, s->layers * s->thick)) != 0) return qb__fail_writing(errno, path);
    return QB_OK;
}

void qb__spool_close(qb__spool *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

qb_status qb__spool_put(const qb__spool *s, size_t first, size_t end, const void *images) {
    qb_status status = QB_OK;
    for (size_t i = first; i < end && status == QB_OK; i++)
        status = qb__pwrite_all(s->fd, s->path, (const char *)images + (i - first) * s->image, s->image, place(s, i));
    return status;
}

qb_status qb__spool_state(const qb__spool *s, size_t layer, qb__layer_state *state) {
    unsigned char byte = 0;
    ssize_t got;
    do got = pread(s->fd, &byte, 1, (off_t)(layer * PAGE));
    while (got < 0 && errno == EINTR);
    *state = (qb__layer_state)byte;
    return got < 0 ? qb__fail_errno(errno, "reading", s->path) : QB_OK;
}

qb_status qb__spool_mark(const qb__spool *s, size_t layer, qb__layer_state state) {
    const unsigned char byte = (unsigned char)state;
    return qb__pwrite_all(s->fd, s->path, &byte, 1, layer * PAGE);
}

qb_status qb__spool_map(const qb__spool *s, size_t layer, const char **images) {
    void *at =
        mmap(NULL, s->thick * qb__spool_stride(s), PROT_READ, MAP_SHARED, s->fd, (off_t)place(s, layer * s->thick));
    *images = at == MAP_FAILED ? NULL : at;
    return *images ? QB_OK : qb__fail_errno(errno, "reading back", s->path);
}

void qb__spool_unmap(const qb__spool *s, const char *images) {
    if (images) munmap((void *)images, s->thick * qb__spool_stride(s));
}

void qb__spool_drop(const qb__spool *s, size_t layer) {
#ifdef FALLOC_FL_PUNCH_HOLE
    const off_t bytes = (off_t)(s->thick * qb__spool_stride(s));
    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)place(s, layer * s->thick), bytes) != 0)
        return; /* the space is freed with the file */
#else
    (void)s, (void)layer;
#endif
}

static bool has(const unsigned char *bits, size_t image) { return bits[image / 8] >> image % 8 & 1; }

/* Images from..to - 1 are one layer, which this write has in part: `data` are its images a..b - 1. */
static qb_status write_part(const qb__spool *s, const unsigned char *written, size_t layer, size_t a, size_t b,
                            const char *data, qb__spool_pack *pack, void *context) {
    const size_t from = layer * s->thick, to = qb__smaller(from + s->thick, s->images);
    bool whole = true;
    const qb_status status = qb__spool_put(s, a, b, data);
    for (size_t i = from; i < to && whole; i++) whole = (i >= a && i < b) || has(written, i);
    return status == QB_OK && whole ? pack(context, layer, 1, NULL) : status;
}

static size_t end_of(const qb__spool *s, size_t layer) { return qb__smaller((layer + 1) * s->thick, s->images); }

/* Whether a layer is still to be packed. The spool of a stopped run must have the same numbers. */
static qb_status is_open(const qb__spool *s, size_t layer, bool *open) {
    qb__layer_state state;
    const qb_status status = qb__spool_state(s, layer, &state);
    *open = status == QB_OK && state == QB__SPOOL_OPEN;
    return status;
}

qb_status qb__spool_write(const qb__spool *s, const unsigned char *written, size_t first, size_t end, const void *data,
                          qb__spool_pack *pack, void *context) {
    enum { AT_ONCE = 16 }; /* layers: those before go to the disk meanwhile */
    qb_status status = QB_OK;
    for (size_t at = first, next; at < end && status == QB_OK; at = next) {
        const char *images = (const char *)data + (at - first) * s->image;
        const size_t layer = at / s->thick;
        size_t count = 0;
        bool open;
        next = qb__smaller(end, end_of(s, layer));
        status = is_open(s, layer, &open);
        if (status != QB_OK || !open) continue;
        if (at > layer * s->thick || next < end_of(s, layer)) {
            status = write_part(s, written, layer, at, next, images, pack, context);
            continue;
        }
        while (status == QB_OK && open && ++count < AT_ONCE && next < end && end_of(s, layer + count) <= end) {
            status = is_open(s, layer + count, &open);
            if (open) next = end_of(s, layer + count);
        }
        if (status == QB_OK) status = pack(context, layer, count, images);
    }
    return status;
}

bool qb__spool_reopen(const qb__spool *s, const unsigned char *images) {
    for (size_t layer = 0; layer < s->layers; layer++) {
        const size_t end = qb__smaller((layer + 1) * s->thick, s->images);
        qb__layer_state state;
        bool whole = true;
        for (size_t i = layer * s->thick; i < end; i++) whole = whole && has(images, i);
        if (qb__spool_state(s, layer, &state) != QB_OK) return false;
        if (state == QB__SPOOL_PACKED && !whole && qb__spool_mark(s, layer, QB__SPOOL_OPEN) != QB_OK) return false;
    }
    return true;
}
