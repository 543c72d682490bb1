/* SPDX-License-Identifier: MIT */
/* The sources of a virtual dataset. The HDF5 library silently reads a source that is missing, truncated or not HDF5 as
 * the fill value. So each source is opened and compared with its mapping, and images without a mapping are counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#include "io/writer.h"
#include "io/hdf5/external.h"

enum { NAME_MOST = QB__EXTERNAL_NAME, NESTED_MOST = 8, BLOCKS_MOST = 1 << 20, IMAGES_MOST = 1 << 26 };

/* A mapping of the dataset, and its open file. */
typedef struct mapping {
    hid_t plist;
    size_t index;
    const char *label, *file; /* name of the dataset; its file */
    qb__h5_open_source *open;
    hid_t wanted, from; /* destination of its values; selection of the source */
    hid_t source;       /* the open file `path`; several mappings often use the same one */
    char path[NAME_MOST], name[NAME_MOST], dataset[NAME_MOST];
} mapping;

/* In the name of a source %b stands for the number of a block, %% for a percent sign. False: too long. */
static bool expand(const char *pattern, size_t block, char out[NAME_MOST], bool *many) {
    size_t n = 0;
    for (const char *from = pattern; *from; from++) {
        const bool percent = *from == '%' && from[1];
        if (percent) from++;
        if (percent && *from == 'b') {
            *many = true;
            n += (size_t)snprintf(out + n, NAME_MOST - n, "%zu", block);
        } else if (n + 1 < NAME_MOST) {
            out[n++] = *from;
        }
        if (n + 1 >= NAME_MOST) return false;
    }
    out[n] = 0;
    return true;
}

/* Find and open the file of a mapping's source, in m->source. */
static qb_status open_file(mapping *m, const char *name) {
    char path[NAME_MOST];
    if (strcmp(name, ".") == 0)
        snprintf(path, sizeof path, "%s", m->file);
    else if (!qb__external_find(m->file, name, "HDF5_VDS_PREFIX", path))
        return qb__fail(QB_BAD_INPUT,
                        "%s: some of its images are in %s, which is missing: put that file into the same folder",
                        m->label, name);
    if (m->source >= 0 && strcmp(path, m->path) == 0) return QB_OK;
    if (m->source >= 0) H5Fclose(m->source);
    qb_status status = qb__h5_open(path, &m->source);
    memcpy(m->path, path, sizeof path);
    return status == QB_OK ? QB_OK : qb__fail_in(status, "%s takes images from another file", m->label);
}

/* The source must be as large as the selection. If all of it is selected, the file does not state its shape: it must
 * then have as many values as the destination. */
static qb_status compare(const mapping *m, const char *dataset) {
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK], have[H5S_MAX_RANK];
    qb_status status = QB_OK;
    hid_t set = qb__h5_dataset(m->source, dataset), space = set < 0 ? set : H5Dget_space(set);
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, have, NULL);
    if (rank < 0)
        status = qb__h5_fail(QB_BAD_INPUT, m->label, "the shape of a source cannot be read");
    else if (H5Sget_select_type(m->from) == H5S_SEL_ALL) {
        const hssize_t wanted = H5Sget_select_npoints(m->wanted), there = H5Sget_simple_extent_npoints(space);
        if (wanted != there)
            status = qb__fail(QB_BAD_INPUT, "%s takes %lld values from %s:%s, which has %lld", m->label,
                              (long long)wanted, m->path, dataset, (long long)there);
    } else if (rank != H5Sget_simple_extent_ndims(m->from))
        status = qb__fail(QB_BAD_INPUT, "%s takes images from %s:%s, which has %d dimensions, not %d", m->label,
                          m->path, dataset, rank, H5Sget_simple_extent_ndims(m->from));
    else if (H5Sget_select_npoints(m->from) > 0 && H5Sget_select_bounds(m->from, low, high) >= 0)
        for (int i = 0; i < rank && status == QB_OK; i++)
            if (high[i] >= have[i] && high[i] != H5S_UNLIMITED)
                status = qb__fail(QB_BAD_INPUT, "%s takes images from %s:%s, which ends at %llu of %llu along axis %d",
                                  m->label, m->path, dataset, (unsigned long long)have[i],
                                  (unsigned long long)high[i] + 1, i);
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    return status;
}

/* Opening a source of images as a scan would check everything in it, including other virtual datasets. */
static qb_status open_images(mapping *m, const char *name, const char *dataset, qb__source *whole) {
    static _Thread_local int nested;
    int rank = 0;
    size_t shape[3];
    qb__source *source = NULL;
    if (nested == NESTED_MOST)
        return qb__fail(QB_BAD_INPUT, "%s: virtual datasets lead to each other more than %d deep", m->label,
                        NESTED_MOST);
    QB__OR_RETURN(open_file(m, name));
    if (!qb__h5_exists(m->source, dataset))
        return qb__fail(QB_BAD_INPUT, "%s takes images from %s:%s, which does not exist", m->label, m->path, dataset);
    qb_status status = compare(m, dataset);
    if (status != QB_OK || !qb__h5_shape(m->source, dataset, &rank, shape) || rank < 2) return status;
    nested++;
    status = m->open(m->source, m->path, dataset, &source);
    nested--;
    if (status != QB_OK) return nested ? status : qb__fail_in(status, "%s takes images from another dataset", m->label);
    if (source->holes)
        status =
            qb__fail(QB_BAD_INPUT, "%s takes images from %s, of which %s", m->label, source->path, source->trouble);
    else if (*source->trouble && !*whole->trouble)
        memcpy(whole->trouble, source->trouble, sizeof whole->trouble);
    qb__source_close(source);
    return status;
}

/* Values per image that a block of images first..end-1 has. */
static void cover(uint64_t *covered, size_t images, hsize_t first, hsize_t end, uint64_t values) {
    for (hsize_t i = first; i < end && i < images; i++) covered[i] += values;
}

/* Add the values per image that the mapping provides. *blocks: number along the first axis. */
static qb_status add_covered(const mapping *m, int rank, const qb__source *whole, uint64_t *covered, size_t *blocks) {
    hsize_t start[3] = {0}, stride[3] = {1, 1, 1}, count[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    const int skip = 3 - rank;
    *blocks = 1;
    const H5S_sel_type how = H5Sget_select_type(m->wanted);
    if (how == H5S_SEL_ALL) {
        cover(covered, whole->shape[0], 0, whole->shape[0], whole->shape[1] * (uint64_t)whole->shape[2]);
        return QB_OK;
    }
    if (how == H5S_SEL_HYPERSLABS && H5Sis_regular_hyperslab(m->wanted) > 0) {
        if (H5Sget_regular_hyperslab(m->wanted, start + skip, stride + skip, count + skip, block + skip) < 0)
            return qb__h5_fail(QB_BAD_INPUT, m->label, "its mappings cannot be read");
        for (int i = 0; i < 3; i++) { /* unlimited: up to the size of the dataset */
            if (count[i] == H5S_UNLIMITED)
                count[i] = stride[i] ? qb__ceil_div(qb__larger(whole->shape[i], start[i]) - start[i], stride[i]) : 0;
            if (block[i] == H5S_UNLIMITED) block[i] = qb__larger(whole->shape[i], start[i]) - start[i];
        }
        if (!stride[0]) return qb__fail(QB_BAD_INPUT, "%s: a mapping of stride 0", m->label);
        *blocks = (size_t)count[0];
        for (hsize_t n = 0; n < count[0] && start[0] + n * stride[0] < whole->shape[0]; n++)
            cover(covered, whole->shape[0], start[0] + n * stride[0], start[0] + n * stride[0] + block[0],
                  count[1] * block[1] * count[2] * block[2]);
        return QB_OK;
    }
    hsize_t *list;
    const hssize_t many = how == H5S_SEL_HYPERSLABS ? H5Sget_select_hyper_nblocks(m->wanted) : -1;
    if (many < 0 || many > BLOCKS_MOST)
        return qb__fail(
            QB_UNSUPPORTED,
            "%s: one of its mappings does not consist of blocks: copy the data into a dataset that is not virtual",
            m->label);
    qb_status status = qb__alloc((size_t)many, 2 * (size_t)rank * sizeof *list, &list);
    if (status == QB_OK && H5Sget_select_hyper_blocklist(m->wanted, 0, (hsize_t)many, list) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, m->label, "its mappings cannot be read");
    for (hssize_t n = 0; n < many && status == QB_OK; n++) {
        const hsize_t *low = list + 2 * rank * n, *high = low + rank;
        uint64_t values = 1;
        for (int i = rank - 2; i < rank; i++) values *= high[i] - low[i] + 1;
        cover(covered, whole->shape[0], rank == 3 ? low[0] : 0, rank == 3 ? high[0] + 1 : 1, values);
    }
    qb__free(list);
    return status;
}

static qb_status check_mapping(mapping *m, int rank, qb__source *whole, uint64_t *covered) {
    char name[NAME_MOST], dataset[NAME_MOST];
    size_t blocks;
    bool many = false;
    if (H5Pget_virtual_filename(m->plist, m->index, m->name, NAME_MOST) < 0 ||
        H5Pget_virtual_dsetname(m->plist, m->index, m->dataset, NAME_MOST) < 0 || m->wanted < 0 || m->from < 0 ||
        H5Sget_simple_extent_ndims(m->wanted) != rank)
        return qb__h5_fail(QB_BAD_INPUT, m->label, "its mappings cannot be read");
    m->name[NAME_MOST - 1] = m->dataset[NAME_MOST - 1] = 0;
    QB__OR_RETURN(add_covered(m, rank, whole, covered, &blocks));
    for (size_t b = 0; b < blocks && b < BLOCKS_MOST; b++) {
        if (!expand(m->name, b, name, &many) || !expand(m->dataset, b, dataset, &many))
            return qb__fail(QB_BAD_INPUT, "%s: the name of a source is too long", m->label);
        QB__OR_RETURN(open_images(m, name, dataset, whole));
        if (!many) break;
    }
    return QB_OK;
}

/* Flags of incomplete images; NULL if all are complete. */
static qb_status find_holes(qb__source *whole, const uint64_t *covered) {
    const uint64_t values = whole->shape[1] * (uint64_t)whole->shape[2];
    size_t missing = 0, first = 0;
    for (size_t i = whole->shape[0]; i-- > 0;)
        if (covered[i] < values) missing++, first = i;
    if (!missing) return QB_OK;
    qb__print(whole->trouble, sizeof whole->trouble,
              "%zu of %zu images have no source, the first is image %zu" QB__CODE("unmapped-images"), missing,
              whole->shape[0], first);
    qb_status status = qb__alloc(whole->shape[0], 1, &whole->holes);
    for (size_t i = 0; status == QB_OK && i < whole->shape[0]; i++) whole->holes[i] = covered[i] < values;
    return status;
}

bool qb__h5_mapped_is_known;

qb_status qb__h5_check_mapped(hid_t plist, const char *label, const char *file, qb__h5_open_source *open_source,
                              int rank, qb__source *whole) {
    size_t count = 0;
    uint64_t *covered = NULL;
    mapping *m = NULL;
    qb_status status;
    if (qb__h5_mapped_is_known) return QB_OK;
    if (whole->shape[0] > IMAGES_MOST)
        return qb__fail(QB_BAD_INPUT, "%s: it has %zu images; virtual datasets of at most %d are read", label,
                        whole->shape[0], IMAGES_MOST);
    QB__TRY(qb__alloc(1, sizeof *m, &m));
    QB__TRY(qb__alloc(whole->shape[0], sizeof *covered, &covered));
    *m = (mapping){.plist = plist, .label = label, .file = file, .open = open_source, .source = H5I_INVALID_HID};
    if (H5Pget_virtual_count(plist, &count) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, label, "its mappings cannot be read");
    for (; status == QB_OK && m->index < count; m->index++) {
        m->wanted = H5Pget_virtual_vspace(plist, m->index);
        m->from = H5Pget_virtual_srcspace(plist, m->index);
        status = check_mapping(m, rank, whole, covered);
        if (m->wanted >= 0) H5Sclose(m->wanted);
        if (m->from >= 0) H5Sclose(m->from);
    }
    if (m->source >= 0) H5Fclose(m->source);
    if (status == QB_OK) status = find_holes(whole, covered);
out:
    QB__FREE(covered, m);
    return status;
}
