/* SPDX-License-Identifier: MIT */
/* Scans with one view per file, as written by radiotherapy machines. */
#include "io/vendor/frame_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"

typedef struct place {
    size_t file;
    qb__frame_head head; /* header of the image in its file */
} place;

typedef struct series {
    qb__source base;
    qb__notes files;
    place *image; /* [shape[0]] */
} series;

typedef struct sweep {
    const series *s;
    const qb__region *region;
    char *out;
} sweep;

static qb_status read_plain(const char *path, const qb__frame_head *h, const qb__region *r, char *out) {
    const size_t size = qb_dtype_size(h->dtype), row = h->columns * size;
    return qb__pread_values(path, h->at + r->row0 * row, (r->row1 - r->row0) * row, size, false, out);
}

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *r = s->region;
    const place *p = &s->s->image[r->first + number * r->step];
    const char *path = s->s->files.text[p->file];
    char *out = s->out + number * (r->row1 - r->row0) * qb__source_row_bytes(&s->s->base);
    if (p->head.bytes) return qb__differences_read(path, &p->head, r->row0, r->row1, (int32_t *)(void *)out);
    return read_plain(path, &p->head, r, out);
}

static qb_status read_series(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const series *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release(qb__source *source) {
    series *s = (series *)source;
    qb__notes_release(&s->files);
    qb__free(s->image);
}

static const qb__frame_kind *kind_of(const char *path, const qb__frame_kind *kinds, size_t count) {
    const size_t n = strlen(path);
    for (size_t i = 0; i < count; i++) {
        const size_t m = strlen(kinds[i].extension);
        if (n > m && strcasecmp(path + n - m, kinds[i].extension) == 0) return &kinds[i];
    }
    return &kinds[0];
}

static qb_status read_head(const qb__frame_kind *kind, const char *path, qb__frame_head *head) {
    uint64_t size;
    size_t bytes;
    *head = (qb__frame_head){.angle = NAN, .offset = {NAN, NAN}, .pixel = {NAN, NAN}, .chamber = NAN};
    QB__OR_RETURN(qb__file_size(path, &size));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = kind->head(path, fd, size, head);
    close(fd);
    if (status != QB_OK || !head->count) return status;
    if (head->bytes) { /* the image has at least one byte per pixel */
        if (head->rows * head->columns <= head->bytes) return QB_OK;
        return qb__fail(QB_BAD_INPUT, "%s: a packed image of %zu x %zu pixels cannot have %llu bytes: it is damaged",
                        path, head->columns, head->rows, (unsigned long long)head->bytes);
    }
    if (qb__mul(head->rows, head->columns, qb_dtype_size(head->dtype), &bytes) &&
        qb__mul(bytes, head->count, 1, &bytes) && head->at <= size && bytes <= size - head->at)
        return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: %zu images of %zu x %zu %s need more than its %llu bytes: it is incomplete",
                    path, head->count, head->columns, head->rows, qb_dtype_name(head->dtype), (unsigned long long)size);
}

static qb_status add_images(series *s, size_t file, const qb__frame_head *head, size_t *room) {
    qb__source *base = &s->base;
    if (!base->shape[0]) base->dtype = head->dtype, base->shape[1] = head->rows, base->shape[2] = head->columns;
    if (head->rows != base->shape[1] || head->columns != base->shape[2] || head->dtype != base->dtype)
        return qb__fail(QB_BAD_INPUT, "%s has an image of %zu x %zu %s, the first one is %zu x %zu %s",
                        s->files.text[file], head->columns, head->rows, qb_dtype_name(head->dtype), base->shape[2],
                        base->shape[1], qb_dtype_name(base->dtype));
    if (base->shape[0] + head->count > *room) {
        place *more;
        *room = 2 * (base->shape[0] + head->count);
        QB__OR_RETURN(qb__alloc(*room, sizeof *more, &more));
        if (s->image) memcpy(more, s->image, base->shape[0] * sizeof *more);
        qb__free(s->image);
        s->image = more;
    }
    for (size_t i = 0; i < head->count; i++) {
        place *p = &s->image[base->shape[0]++];
        *p = (place){file, *head};
        p->head.at += i * head->rows * qb__source_row_bytes(base);
    }
    return QB_OK;
}

static qb_status list_images(series *s, const qb__frame_kind *kind) {
    const char *path = s->base.path;
    size_t room = 0, held = 0;
    qb_status status = QB_OK;
    for (size_t i = 0; i < s->files.count && status == QB_OK; i++) {
        qb__frame_head head;
        status = read_head(kind, s->files.text[i], &head);
        if (status == QB_OK && head.count) status = add_images(s, i, &head, &room);
        held = qb__larger(held, (size_t)(head.bytes + head.table_bytes));
    }
    if (status == QB_OK && !s->base.shape[0]) status = qb__fail(QB_BAD_INPUT, "%s holds no image", path);
    if (!held || status != QB_OK) return status;
    s->base.chunk[1] = s->base.shape[1], s->base.chunk[2] = s->base.shape[2];
    s->base.cache_each = held + s->base.shape[1] * qb__source_row_bytes(&s->base);
    return QB_OK;
}

qb_status qb__frame_files_open(const char *path, const qb__frame_kind *kinds, size_t count, qb__frame_head **heads,
                               qb__source **source) {
    const qb__frame_kind *kind = kind_of(path, kinds, count);
    char extensions[64] = " ";
    series *s;
    *heads = NULL, *source = NULL;
    qb_status status = qb__source_create(sizeof *s, kind->format, path, &s);
    if (status != QB_OK) return status;
    s->base.read = read_series;
    s->base.release = release;
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(extensions);
        snprintf(extensions + n, sizeof extensions - n, "%s ", kinds[i].extension);
    }
    QB__TRY(qb__source_files(&s->base, extensions, &s->files));
    QB__TRY(list_images(s, kind_of(s->files.text[0], kinds, count)));
    QB__TRY(qb__alloc(s->base.shape[0], sizeof **heads, heads));
    for (size_t i = 0; i < s->base.shape[0]; i++) (*heads)[i] = s->image[i].head;
    *source = &s->base;
out:
    if (status != QB_OK) qb__source_close(&s->base);
    return status;
}

static qb_status set_angles(const qb__frame_head *heads, qb__scan_parts *parts) {
    const size_t n = parts->data.count;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(heads[i].angle)) return QB_OK;
    const qb_status status = qb__alloc(n, sizeof *parts->angles, &parts->angles);
    for (size_t i = 0; status == QB_OK && i < n; i++) parts->angles[i] = heads[i].angle * M_PI / 180;
    if (status == QB_OK) parts->angle_count = n;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", parts->data.source->path);
    return status;
}

static qb_status set_offsets(const qb__frame_head *heads, qb__scan_parts *parts) {
    const double LEAST = 0.05; /* smallest shift in pixels that is worth an interpolation */
    const double *pixel = heads[0].pixel;
    const size_t n = parts->data.count;
    double mean[2] = {0, 0}, most = 0;
    size_t without = 0, first = 0;
    for (size_t i = n; i-- > 0;)
        if (!isfinite(heads[i].offset[0]) || !isfinite(heads[i].offset[1])) without++, first = i;
    if (without && without < n)
        qb__note(&parts->notes,
                 "%zu of %zu views state no offset of the detector, the first is view %zu: no offset is used, give "
                 "--detector-offset" QB__CODE("metadata-unusable"),
                 without, n, first);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) mean[k] += (isfinite(heads[i].offset[k]) ? heads[i].offset[k] : NAN) / (double)n;
    if (!isfinite(mean[0]) || !isfinite(mean[1])) return QB_OK;
    for (int k = 0; k < 2; k++) parts->detector[k] = mean[k];
    parts->detector_stated = true;
    const qb_status status = qb__alloc(2 * n, sizeof *parts->shifts, &parts->shifts);
    for (size_t i = 0; status == QB_OK && i < 2 * n; i++) {
        parts->shifts[i] = (mean[i % 2] - heads[i / 2].offset[i % 2]) / pixel[i % 2];
        most = fmax(most, fabs(parts->shifts[i]));
    }
    if (most >= LEAST && isfinite(most)) return status;
    qb__free(parts->shifts);
    parts->shifts = NULL;
    return status;
}

qb_status qb__frame_files_parts(const qb__frame_head *heads, qb__scan_parts *parts) {
    const double *pixel = heads[0].pixel;
    parts->format = parts->data.source->format;
    parts->data.count = parts->data.source->shape[0];
    qb_status status = set_angles(heads, parts);
    if (status != QB_OK || !(pixel[0] > 0 && pixel[1] > 0)) return status;
    parts->pixel_size = pixel[0], parts->pixel_v = pixel[1];
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.150s", parts->data.source->path);
    return set_offsets(heads, parts);
}
