/* SPDX-License-Identifier: MIT */
/* Writes a volume as OME-Zarr at several resolutions. A layer of chunks is compressed as soon as its images are
 * complete: from memory if one write has all of them, otherwise from the spool. The images at half the resolution go to
 * the spool of the next level. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/publish/staging.h"
#include "io/layer/spool.h"
#include "io/zarr/zarr.h"

typedef struct zarr_writer {
    const char *fresh; /* the staging folder; owned by the file set, or `own` */
    char *own;         /* in another process: owned copy of the folder name; else NULL */
    int levels;
    qb__zarr_array level[QB__ZARR_LEVELS];
    qb__spool spool[QB__ZARR_LEVELS];
    /* [level] number + 1 of the layer that was compressed from the spool last and may not be on disk yet. Its images
     * stay in the spool, which still lists the layer as open. 0: none. */
    size_t unsettled[QB__ZARR_LEVELS];
    /* From the first layer on: what each of `threads` threads needs to pack, and room for an image of half
     * resolution. */
    char *memory, *half;
    size_t threads;
} zarr_writer;

static void level_folder(const zarr_writer *z, int level, char *name, size_t room) {
    snprintf(name, room, "%s/%d", z->fresh, level);
}

static void spool_name(const zarr_writer *z, int level, char *name, size_t room) {
    snprintf(name, room, "%s/.spool-%d", z->fresh, level);
}

static qb_status plan(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    qb__codec_kind codec;
    zarr_writer *z;
    qb_status status = qb__codec_named(s->compress, &codec);
    const bool two = s->zarr == QB_ZARR_0_4;
    if (status == QB_OK) status = qb__alloc(1, sizeof *z, &z);
    if (status != QB_OK) return status;
    writer->own = z;
    z->levels = qb__zarr_levels(s, two ? 2 : 3, codec, z->level);
    for (int i = 0; i < QB__ZARR_LEVELS; i++) z->spool[i].fd = -1;
    return QB_OK;
}

static qb_status open_spools(qb_writer *writer, bool fresh) {
    zarr_writer *z = writer->own;
    qb_status status = QB_OK;
    char name[4096];
    for (int i = 0; i < z->levels && status == QB_OK; i++) {
        const qb__zarr_array *a = &z->level[i];
        const size_t image = a->shape[1] * a->shape[2] * qb_dtype_size(a->dtype);
        spool_name(z, i, name, sizeof name);
        status = qb__spool_open(name, a->shape[0], image, a->file[0], writer->path, fresh, &z->spool[i]);
    }
    return status;
}

static qb_status put_group(qb_writer *writer, const char *provenance) {
    zarr_writer *z = writer->own;
    char *json;
    qb_status status = qb__stack_json(writer, provenance, &json);
    if (status == QB_OK) status = qb__zarr_put_group(z->fresh, writer, z->level, z->levels, json);
    qb__free(json);
    return status;
}

static qb_status put_headers(qb_writer *writer) {
    const zarr_writer *z = writer->own;
    const bool projections = qb__stack_is_projections(&writer->stack);
    qb_status status = QB_OK;
    char name[4096];
    for (int i = 0; i < z->levels && status == QB_OK; i++) {
        level_folder(z, i, name, sizeof name);
        if (mkdir(name, 0777) != 0) return qb__fail_errno(errno, "creating", name);
        status = qb__zarr_put_array(name, writer->path, &z->level[i], projections);
    }
    return status == QB_OK ? put_group(writer, "") : status;
}

static qb_status begin_zarr(qb_writer *writer) {
    qb_status status = plan(writer);
    zarr_writer *z = writer->own;
    if (status == QB_OK && !writer->set)
        status = qb__fail(QB_BAD_ARGUMENT, "%s: a file of one slice cannot be Zarr: give .tif", writer->path);
    if (status == QB_OK) status = qb__publication_store(writer->set, writer->path, &z->fresh);
    if (status != QB_OK) return status;
    const bool resumed = qb__publication_taken_up(writer->set);
    if (!resumed) status = put_headers(writer);
    return status == QB_OK ? open_spools(writer, !resumed) : status;
}

static const char *place_zarr(const qb_writer *writer, qb__writer_location *place) {
    const zarr_writer *z = writer->own;
    place->files = (size_t)z->levels;
    return z->fresh;
}

static qb_status join_zarr(qb_writer *writer, const qb__writer_location *place) {
    qb_status status = plan(writer);
    zarr_writer *z = writer->own;
    if (status != QB_OK) return status;
    z->own = qb__strdup(place->fresh);
    z->fresh = z->own;
    return z->own ? open_spools(writer, false) : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
}

/* ---- layers ---- */

/* Halves a layer and puts the images into the spool of the next level. A piece is one image of half resolution. */
typedef struct halving {
    const zarr_writer *z;
    int level;
    size_t first, images, stride; /* images of the layer, at full resolution */
    const char *data;
} halving;

static qb_status halve_image(void *context, size_t piece, size_t worker) {
    const halving *h = context;
    const qb__zarr_array *a = &h->z->level[h->level], *half = a + 1;
    const qb__spool *to = &h->z->spool[h->level + 1];
    const char *one = h->data + 2 * piece * h->stride, *two = 2 * piece + 1 < h->images ? one + h->stride : NULL;
    char *image = h->z->half + worker * to->image;
    qb__zarr_halve(a->dtype, one, two, a->shape[1], a->shape[2], 0, half->shape[1], image);
    const size_t number = h->first / 2 + piece;
    return qb__spool_put(to, number, number + 1, image);
}

static qb_status is_packed(const zarr_writer *z, int level, size_t layer, bool *packed) {
    const qb__spool *spool = &z->spool[level];
    qb__layer_state state = QB__SPOOL_PACKED;
    *packed = true;
    if (z->unsettled[level] == layer + 1) return QB_OK;
    const qb_status status = layer < spool->layers ? qb__spool_state(spool, layer, &state) : QB_OK;
    *packed = state != QB__SPOOL_OPEN;
    return status;
}

/* Completes the layer that was compressed before: waits until its files are on disk, which they usually are already,
 * and drops its images from the spool. */
static qb_status settle(const qb_writer *writer, int level) {
    zarr_writer *z = writer->own;
    char folder[4096];
    if (!z->unsettled[level]) return QB_OK;
    const size_t layer = z->unsettled[level] - 1;
    level_folder(z, level, folder, sizeof folder);
    qb_status status = qb__zarr_sync_layer(&z->level[level], folder, writer->path, layer, writer->threads);
    if (status == QB_OK) status = qb__spool_mark(&z->spool[level], layer, QB__SPOOL_FLUSHED);
    if (status == QB_OK) qb__spool_drop(&z->spool[level], layer);
    z->unsettled[level] = 0;
    return status;
}

static qb_status make_room(const qb_writer *writer) {
    zarr_writer *z = writer->own;
    if (z->threads) return QB_OK;
    size_t each = 0;
    for (int i = 0; i < z->levels; i++) each = qb__larger(each, qb__zarr_layer_memory(&z->level[i]));
    qb_status status = qb__alloc(writer->threads, each, &z->memory);
    if (status == QB_OK && z->levels > 1) status = qb__alloc(writer->threads, z->spool[1].image, &z->half);
    if (status == QB_OK) z->threads = writer->threads;
    return status;
}

/* Compresses a layer. `data` NULL: from the spool, which keeps the images until the files are on disk. */
static qb_status pack_layer(const qb_writer *writer, int level, size_t layer, const char *data) {
    zarr_writer *z = writer->own;
    const qb__spool *spool = &z->spool[level];
    const bool spooled = !data;
    const size_t stride = spooled ? qb__spool_stride(spool) : spool->image;
    const qb__zarr_array *a = &z->level[level];
    const size_t first = layer * a->file[0], images = qb__smaller(a->file[0], a->shape[0] - first);
    const char *mapped = NULL;
    char folder[4096];
    halving h = {z, level, first, images, stride, data};
    qb__zarr_more more = {0, halve_image, &h};
    qb_status status;
    level_folder(z, level, folder, sizeof folder);
    if (spooled) QB__TRY(qb__spool_map(spool, layer, &mapped));
    if (spooled) h.data = mapped;
    if (level + 1 < z->levels) more.count = qb__ceil_div(images, 2);
    QB__TRY(make_room(writer));
    QB__TRY(qb__zarr_put_layer(a, folder, writer->path, layer, h.data, stride, z->threads, z->memory, &more));
    if (!spooled) QB__TRY(qb__spool_mark(spool, layer, QB__SPOOL_PACKED));
    QB__TRY(settle(writer, level));
    if (spooled) z->unsettled[level] = layer + 1;
    if (z->own) QB__TRY(settle(writer, level)); /* another process may read the spool at any time */
out:
    qb__spool_unmap(spool, mapped);
    return status;
}

/* Compresses a layer, and then each layer of the next levels that it completes. */
static qb_status pack_one(const qb_writer *writer, size_t layer, const char *data) {
    const zarr_writer *z = writer->own;
    qb_status status = pack_layer(writer, 0, layer, data);
    for (int level = 1; status == QB_OK && level < z->levels; level++, layer /= 2) {
        bool whole, packed;
        status = is_packed(z, level - 1, layer ^ 1, &whole);
        if (status == QB_OK) status = is_packed(z, level, layer / 2, &packed);
        if (status != QB_OK || !whole || packed) break;
        status = pack_layer(writer, level, layer / 2, NULL);
    }
    return status;
}

static qb_status pack(void *context, size_t first, size_t count, const char *data) {
    const qb_writer *writer = context;
    const zarr_writer *z = writer->own;
    const qb__spool *spool = &z->spool[0];
    qb_status status = QB_OK;
    for (size_t i = 0; i < count && status == QB_OK; i++)
        status = pack_one(writer, first + i, data ? data + i * spool->thick * spool->image : NULL);
    return status;
}

static qb_status write_zarr(qb_writer *writer, size_t first, size_t end, const void *data) {
    const zarr_writer *z = writer->own;
    return qb__spool_write(&z->spool[0], writer->written, first, end, data, pack, writer);
}

/* ---- the end ---- */

/* Compresses the layers whose images no single process had completely. */
static qb_status pack_rest(const qb_writer *writer) {
    const zarr_writer *z = writer->own;
    qb_status status = QB_OK;
    for (int level = 0; level < z->levels; level++) {
        for (size_t layer = 0; layer < z->spool[level].layers && status == QB_OK; layer++) {
            bool packed;
            status = is_packed(z, level, layer, &packed);
            if (status == QB_OK && !packed) status = pack_layer(writer, level, layer, NULL);
        }
    }
    return status;
}

static void remove_fresh(const char *folder) {
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strncmp(entry->d_name, QB__ZARR_FRESH, sizeof QB__ZARR_FRESH - 1) == 0)
            unlinkat(dirfd(list), entry->d_name, 0);
    if (list) closedir(list);
}

static qb_status finish_zarr(qb_writer *writer, const char *provenance) {
    zarr_writer *z = writer->own;
    char name[4096];
    QB__OR_RETURN(pack_rest(writer));
    qb__staging_forget(z->fresh); /* the spools are removed now, so the output can no longer be resumed */
    for (int level = 0; level < z->levels; level++) {
        qb__spool_close(&z->spool[level]);
        spool_name(z, level, name, sizeof name);
        if (unlink(name) != 0) return qb__fail_errno(errno, "removing", name);
        level_folder(z, level, name, sizeof name);
        remove_fresh(name);
    }
    return put_group(writer, provenance);
}

static void release_zarr(qb_writer *writer) {
    zarr_writer *z = writer->own;
    for (int level = 0; z && level < z->levels; level++) qb__spool_close(&z->spool[level]);
    if (!z) return;
    QB__FREE(z->memory, z->half, z->own, z);
}

/* Whether the kept images are complete. If a layer must be compressed again, the layers of higher levels that were made
 * from it are opened again, too. */
static bool has_zarr(const qb_writer *writer, const unsigned char *images) {
    const zarr_writer *z = writer->own;
    bool good = qb__spool_reopen(&z->spool[0], images);
    for (int level = 1; level < z->levels && good; level++) {
        const qb__spool *spool = &z->spool[level];
        for (size_t layer = 0; layer < spool->layers && good; layer++) {
            qb__layer_state state;
            bool one, two;
            good = is_packed(z, level - 1, 2 * layer, &one) == QB_OK &&
                   is_packed(z, level - 1, 2 * layer + 1, &two) == QB_OK &&
                   qb__spool_state(spool, layer, &state) == QB_OK;
            if (good && state == QB__SPOOL_PACKED && !(one && two))
                good = qb__spool_mark(spool, layer, QB__SPOOL_OPEN) == QB_OK;
        }
    }
    return good;
}

/* Disk space besides the images: the other levels, the layers that wait in the spool, and the headers. */
static size_t overhead_zarr(const qb_writer *writer) {
    enum { THICK = 64, WAIT = 2 };
    const size_t *n = writer->stack.shape, all = n[0] * writer->image_bytes;
    const size_t levels = qb__stack_is_projections(&writer->stack) ? 0 : all / 7;
    return levels + qb__smaller(WAIT * THICK, n[0]) * writer->image_bytes + 65536;
}

static size_t each_zarr(const qb_writer *writer) {
    const zarr_writer *z = writer->own;
    return qb__zarr_layer_memory(&z->level[0]);
}

static bool is_store(const qb_writer *writer) {
    (void)writer;
    return true;
}

const qb__writer_kind qb__zarr_writer = {
    .spread = is_store,
    .begin = begin_zarr,
    .write = write_zarr,
    .finish = finish_zarr,
    .release = release_zarr,
    .place = place_zarr,
    .join = join_zarr,
    .overhead = overhead_zarr,
    .each = each_zarr,
    .has = has_zarr,
    .resumes = true,
    .keeps_angles = true,
    .packs = " gzip zstd blosc bitshuffle ",
};
