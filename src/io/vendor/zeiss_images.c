/* SPDX-License-Identifier: MIT */
/* Images that are streams of a compound file. Their positions are found once; then several threads can read them. */
#include "io/vendor/ole2.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"

enum { PER_FOLDER = 100 };

typedef struct zeiss {
    qb__source base;
    int fd;          /* -1: a series, whose files are opened one by one */
    qb__notes files; /* files of a series */
    qb__extents extents;
    size_t *first; /* [images + 1] in extents */
} zeiss;

typedef struct sweep {
    const zeiss *z;
    const qb__region *region;
    char *out;
} sweep;

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const zeiss *z = s->z;
    const size_t image = s->region->first + number * s->region->step, row = qb__source_row_bytes(&z->base);
    const size_t bytes = (s->region->row1 - s->region->row0) * row;
    const char *path = z->fd >= 0 ? z->base.path : z->files.text[image];
    const int fd = z->fd >= 0 ? z->fd : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status =
        qb__extents_read(fd, path, z->extents.list + z->first[image], z->first[image + 1] - z->first[image],
                         s->region->row0 * row, bytes, s->out + number * bytes);
    if (z->fd < 0) close(fd);
    return status;
}

static qb_status read_images(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const zeiss *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release(qb__source *source) {
    zeiss *z = (zeiss *)source;
    if (z->fd >= 0) close(z->fd);
    qb__notes_release(&z->files);
    QB__FREE(z->extents.list, z->first);
}

static void name_image(const qb__zeiss_images *images, size_t i, char *name, size_t size) {
    if (images->hundreds)
        snprintf(name, size, "%s%zu/Image%zu", images->folder, i / PER_FOLDER + 1, i + 1);
    else if (images->numbered)
        snprintf(name, size, "%s/Image%zu", images->folder, i + 1);
    else
        snprintf(name, size, "%s/Image", images->folder);
}

static qb_status find_images(zeiss *z, const qb__ole2 *ole, const qb__zeiss_images *images) {
    const size_t count = z->base.shape[0];
    size_t bytes;
    char name[64];
    qb_status status;
    if (!qb__mul(z->base.shape[1], z->base.shape[2], qb_dtype_size(z->base.dtype), &bytes))
        return qb__fail(QB_BAD_INPUT, "%s: images of %zu x %zu are too large", z->base.path, z->base.shape[2],
                        z->base.shape[1]);
    QB__TRY(qb__alloc(count + 1, sizeof *z->first, &z->first));
    for (size_t i = 0; i < count; i++) {
        name_image(images, images->series ? 0 : i, name, sizeof name);
        qb__ole2 *own = NULL;
        if (images->series) QB__TRY(qb__ole2_open(z->files.text[i], &own));
        status = qb__ole2_extents(own ? own : ole, name, bytes, &z->extents);
        qb__ole2_close(own);
        if (status != QB_OK) goto out;
        z->first[i + 1] = z->extents.count;
    }
out:
    return status;
}

const qb__notes *qb__zeiss_files(const qb__source *source) { return &((const zeiss *)source)->files; }

static qb_status open_files(zeiss *z, qb__zeiss_images *images) {
    if (images->series) {
        const qb_status status = qb__source_files(&z->base, " .xrm ", &z->files);
        images->count = z->files.count;
        return status;
    }
    z->fd = open(z->base.path, O_RDONLY | O_CLOEXEC);
    return z->fd < 0 ? qb__fail_errno(errno, "opening", z->base.path) : QB_OK;
}

qb_status qb__zeiss_source(const qb__ole2 *ole, const char *path, qb__zeiss_images *images, qb__source **source) {
    zeiss *z;
    *source = NULL;
    QB__OR_RETURN(qb__source_create(sizeof *z, "Zeiss", path, &z));
    z->fd = -1;
    z->base.release = release;
    qb_status status = open_files(z, images);
    z->base.dtype = images->dtype;
    z->base.shape[0] = images->count, z->base.shape[1] = images->rows, z->base.shape[2] = images->columns;
    z->base.read = read_images;
    if (status == QB_OK) status = find_images(z, ole, images);
    return qb__source_give(status, &z->base, source);
}
