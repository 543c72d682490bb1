/* SPDX-License-Identifier: MIT */
/* Virtual datasets, whose images are in datasets of other files. Those of our own form (hdf5_own.h) are read by pread
 * from the parts, with several threads; others by HDF5. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/external.h"

enum { NAME_MOST = QB__EXTERNAL_NAME, PARTS_MOST = 256 };

typedef struct virtual_source {
    qb__source base;
    size_t count;
    qb__source **part; /* [count]; image i is number i / count of part i % count */
} virtual_source;

/* File and dataset of a mapping; *path is "" if it is in the file itself, or a pattern (%b). They exist:
 * qb__h5_check_mapped. */
static qb_status look(hid_t plist, size_t i, const char *file, const char *label, char path[NAME_MOST],
                      char dataset[NAME_MOST]) {
    char name[NAME_MOST], *to = name;
    path[0] = 0;
    if (H5Pget_virtual_filename(plist, i, name, sizeof name) < 0 ||
        H5Pget_virtual_dsetname(plist, i, dataset, NAME_MOST) < 0)
        return qb__h5_fail(QB_BAD_INPUT, label, "its mappings cannot be read");
    name[sizeof name - 1] = dataset[NAME_MOST - 1] = 0;
    if (strcmp(name, ".") == 0) return QB_OK;
    for (const char *from = name; *from; from++) {
        if (*from == '%' && *++from != '%') return QB_OK;
        *to++ = *from;
    }
    *to = 0;
    if (!qb__external_find(file, name, "HDF5_VDS_PREFIX", path)) path[0] = 0;
    return QB_OK;
}

/* True if that mapping provides images i, i + count, ... completely. */
static bool interleaved(hid_t plist, size_t i, size_t count, const size_t shape[3]) {
    hsize_t start[3], stride[3], n[3], block[3];
    hid_t space = H5Pget_virtual_vspace(plist, i), from = H5Pget_virtual_srcspace(plist, i);
    bool good = space >= 0 && from >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
                H5Sget_select_npoints(from) == H5Sget_simple_extent_npoints(from) &&
                H5Sis_regular_hyperslab(space) > 0 && H5Sget_regular_hyperslab(space, start, stride, n, block) >= 0;
    if (good) {
        good = start[0] == i && start[1] == 0 && start[2] == 0 && block[0] == 1 &&
               n[0] == (shape[0] - i + count - 1) / count && (n[0] == 1 || stride[0] == count);
        for (int k = 1; k < 3; k++) good = good && n[k] * block[k] == shape[k] && (n[k] == 1 || stride[k] == block[k]);
    }
    if (from >= 0) H5Sclose(from);
    if (space >= 0) H5Sclose(space);
    return good;
}

/* The volume that the parts belong to, as stored in the main file and in each part, and each part's first image. */
typedef struct identity {
    char volume[QB__H5_ID];
    double first;
    qb__h5_open_source *open;
} identity;

/* A part that was exchanged for one of another volume, or for another part, has the right name, shape and type. */
static qb_status check_identity(hid_t file, const char *path, const char *dataset, size_t part, identity *own) {
    char volume[QB__H5_ID];
    double first;
    if (!qb__h5_number(file, dataset, "first_image", &first)) return QB_OK; /* not written by quickbeam */
    if (part == 0) own->first = first;
    if (first != own->first + (double)part)
        return qb__fail(QB_BAD_INPUT, "%s begins with image %.0f, not %.0f: it is another part than its name says",
                        path, first, own->first + (double)part);
    if (*own->volume &&
        (!qb__h5_text(file, dataset, "volume_id", volume, sizeof volume) || strcmp(volume, own->volume) != 0))
        return qb__fail(QB_BAD_INPUT, "%s is a part of another volume", path);
    return QB_OK;
}

/* Open a part. *part is NULL if it is not such images in one piece. */
static qb_status open_part(const char *path, const char *dataset, const qb__source *whole, size_t images, size_t number,
                           identity *own, qb__source **part) {
    hid_t file;
    *part = NULL;
    QB__OR_RETURN(qb__h5_open(path, &file));
    qb_status status = check_identity(file, path, dataset, number, own);
    if (status == QB_OK) status = own->open(file, path, dataset, part);
    H5Fclose(file);
    if (status != QB_OK) return status;
    const size_t *n = (*part)->shape;
    if ((*part)->cache || (*part)->dtype != whole->dtype || n[0] != images || n[1] != whole->shape[1] ||
        n[2] != whole->shape[2]) {
        qb__source_close(*part);
        *part = NULL;
    } else {
        (*part)->threads = 1;
    }
    return QB_OK;
}

static void release_virtual(qb__source *source) {
    virtual_source *v = (virtual_source *)source;
    for (size_t i = 0; v->part && i < v->count; i++) qb__source_close(v->part[i]);
    qb__free(v->part);
}

/* One read(), divided into runs of images. */
typedef struct sweep {
    const virtual_source *v;
    const qb__region *region;
    char *out;
    size_t part, images; /* bytes of an image's rows; images per piece */
} sweep;

static qb_status read_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *all = s->region;
    const size_t first = piece * s->images, end = qb__smaller(first + s->images, all->count);
    qb_status status = QB_OK;
    for (size_t i = first; i < end && status == QB_OK; i++) {
        const size_t image = all->first + i * all->step;
        qb__source *part = s->v->part[image % s->v->count];
        const qb__region one = {image / s->v->count, 1, 1, all->row0, all->row1};
        status = part->read(part, &one, s->out + i * s->part);
    }
    return status;
}

static qb_status read_virtual(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(virtual_source *)source, region, out, (region->row1 - region->row0) * qb__source_row_bytes(source), 0};
    if (!region->count || !s.part) return QB_OK;
    s.images = qb__ceil_div(region->count, qb__pieces(source->threads, region->count * s.part, QB__PIECE_LEAST));
    return qb__share(source->threads, qb__ceil_div(region->count, s.images), read_piece, &s);
}

/* Datasets may lead to virtual ones, and those in a circle: they are left to HDF5. */
static _Thread_local bool inside;

qb_status qb__h5_virtual(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                         const qb__source *whole, qb__source **out) {
    size_t count = 0;
    char *path = NULL;
    virtual_source *v = NULL;
    bool ours = !inside;
    identity own = {"", 0, open_source};
    hid_t main;
    qb_status status = qb__h5_open(file, &main);
    *out = NULL;
    if (status != QB_OK) return status;
    qb__h5_text(main, "/", "volume_id", own.volume, sizeof own.volume);
    H5Fclose(main);
    if (H5Pget_virtual_count(plist, &count) < 0) return qb__h5_fail(QB_BAD_INPUT, label, "its mappings cannot be read");
    ours = ours && count > 0 && count <= PARTS_MOST && count <= whole->shape[0];
    QB__TRY(qb__alloc(2, NAME_MOST, &path));
    QB__TRY(qb__source_create(sizeof *v, "HDF5", label, &v));
    v->base.release = release_virtual;
    v->base.read = read_virtual;
    v->base.dtype = whole->dtype;
    memcpy(v->base.shape, whole->shape, sizeof v->base.shape);
    v->count = count;
    QB__TRY(qb__alloc(count, sizeof *v->part, &v->part));
    for (size_t i = 0; i < count; i++) {
        QB__TRY(look(plist, i, file, label, path, path + NAME_MOST));
        ours = ours && path[0] && interleaved(plist, i, count, whole->shape);
        if (!ours) continue;
        inside = true;
        status =
            open_part(path, path + NAME_MOST, whole, (whole->shape[0] - i + count - 1) / count, i, &own, &v->part[i]);
        inside = false;
        if (status != QB_OK) goto out;
        ours = v->part[i] != NULL;
    }
out:
    qb__free(path);
    if (status == QB_OK && ours)
        *out = &v->base;
    else if (v)
        qb__source_close(&v->base);
    return status;
}
