/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/guard/guard_reader.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#include "io/hdf5/hdf5_chunks.h"

typedef struct h5_source {
    qb__source base;
    hid_t set, type;
    int rank;    /* 2 or 3 */
    int stored;  /* dimensions of the dataset, of which some of size 1 may be left out */
    int kept[3]; /* those of images, rows and columns; -1: none */
    bool ours;   /* chunks are unpacked here */
    qb__h5_chunks chunks;
    qb__guard_reader *reader; /* NULL: the library reads in this process */
} h5_source;

static hid_t half_type(void) {
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

hid_t qb__h5_type(qb_dtype dtype) {
    if (dtype == QB_F16) return half_type();
    const hid_t types[] = {
        [QB_U8] = H5T_STD_U8LE,   [QB_I8] = H5T_STD_I8LE,   [QB_U16] = H5T_STD_U16LE,  [QB_I16] = H5T_STD_I16LE,
        [QB_U32] = H5T_STD_U32LE, [QB_I32] = H5T_STD_I32LE, [QB_F32] = H5T_IEEE_F32LE, [QB_F64] = H5T_IEEE_F64LE,
    };
    return H5Tcopy(types[dtype]);
}

static bool dtype_of(hid_t type, qb_dtype *dtype) {
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    if (class == H5T_FLOAT) {
        *dtype = size == 2 ? QB_F16 : size == 4 ? QB_F32 : QB_F64;
        return size == 2 || size == 4 || size == 8;
    }
    if (class != H5T_INTEGER) return false;
    bool sign = H5Tget_sign(type) == H5T_SGN_2;
    *dtype = size == 1 ? (sign ? QB_I8 : QB_U8) : size == 2 ? (sign ? QB_I16 : QB_U16) : (sign ? QB_I32 : QB_U32);
    return size == 1 || size == 2 || size == 4;
}

/* Chooses a region of the dataset; `memory`: its shape. */
static qb_status select_region(const h5_source *h5, const qb__region *region, hid_t space, hid_t *memory) {
    const hsize_t from[3] = {region->first, region->row0, 0}, step[3] = {region->step, 1, 1},
                  many[3] = {region->count, region->row1 - region->row0, h5->base.shape[2]};
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK];
    for (int i = 0; i < h5->stored; i++) start[i] = 0, stride[i] = 1, count[i] = 1;
    for (int i = 0; i < 3; i++) {
        const int to = h5->kept[i];
        if (to >= 0) start[to] = from[i], stride[to] = step[i], count[to] = many[i];
    }
    *memory = H5Screate_simple(h5->stored, count, NULL);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) < 0)
        return qb__h5_fail(QB_INTERNAL, h5->base.path, "choosing a region");
    return QB_OK;
}

static qb_status read_locked(const h5_source *h5, const qb__region *region, void *out) {
    hid_t space = H5Dget_space(h5->set);
    if (space < 0) return qb__h5_fail(QB_BAD_INPUT, h5->base.path, "its shape");
    hid_t memory = H5I_INVALID_HID;
    qb_status status = select_region(h5, region, space, &memory);
    if (status == QB_OK && H5Dread(h5->set, h5->type, memory, space, H5P_DEFAULT, out) < 0) {
        char what[96];
        snprintf(what, sizeof what, "images %zu.., rows %zu..%zu cannot be read", region->first, region->row0,
                 region->row1 - 1);
        status = qb__h5_fail(QB_BAD_INPUT, h5->base.path, what);
        const qb_status blame = qb__h5_blame_filters(h5->set, h5->base.path);
        if (blame != QB_OK) status = blame;
    }
    H5Sclose(memory);
    H5Sclose(space);
    return status;
}

/* HDF5 holds some kilobytes for each chunk that one call touches, so a call covers few chunks along the slowest axis.
 * The number of images of `region` per call. */
static size_t images_at_once(const h5_source *h5, const qb__region *region) {
    enum { CHUNKS = 64 };
    const size_t *chunk = h5->base.chunk;
    if (chunk[0] * chunk[1] * chunk[2] == 1) return region->count; /* not chunked */
    const size_t across =
        qb__ceil_div(region->row1 - region->row0, chunk[1]) * qb__ceil_div(h5->base.shape[2], chunk[2]);
    const size_t deep = across < CHUNKS ? CHUNKS / across * chunk[0] : chunk[0];
    const size_t images = qb__ceil_div(deep - region->first % chunk[0], region->step);
    return qb__smaller(images, region->count);
}

/* The other process reads and sends a limited number of bytes, or one layer of chunks. Whole rows of chunks are asked
 * for, so that no chunk is unpacked twice. */
enum { SENT = 4 << 20 };

static size_t rows_sent(const h5_source *h5, size_t images) {
    const size_t chunk = h5->base.chunk[1], bytes = chunk * images * qb__source_row_bytes(&h5->base);
    return bytes ? qb__larger(SENT / bytes, 1) * chunk : 1;
}

static size_t images_sent(const h5_source *h5, const qb__region *rest) {
    const qb__source *source = &h5->base;
    const size_t image = (rest->row1 - rest->row0) * qb__source_row_bytes(source), thick = source->chunk[0];
    const size_t many = qb__smaller(images_at_once(h5, rest), qb__larger(SENT / image, 1));
    const size_t layer = qb__ceil_div(thick - rest->first % thick, rest->step);
    return qb__smaller(rest->count, many < layer ? layer : many - (many - layer) % qb__larger(thick / rest->step, 1));
}

static qb_status read_sent(const h5_source *h5, const qb__region *region, char *out) {
    const size_t row = qb__source_row_bytes(&h5->base), image = (region->row1 - region->row0) * row;
    qb__region rest = *region;
    qb_status status = QB_OK;
    while (rest.count > 0 && status == QB_OK) {
        qb__region part = rest;
        part.count = images_sent(h5, &rest);
        const size_t rows = rows_sent(h5, part.count);
        for (part.row0 = region->row0; part.row0 < region->row1 && status == QB_OK; part.row0 = part.row1) {
            part.row1 = qb__smaller(region->row1, part.row0 - part.row0 % h5->base.chunk[1] + rows);
            status = qb__guard_reader_images(h5->reader, &part, row, image, out + (part.row0 - region->row0) * row);
        }
        rest.first += part.count * rest.step;
        rest.count -= part.count;
        out += part.count * image;
    }
    return status;
}

static qb_status read_h5(qb__source *source, const qb__region *region, void *out) {
    const h5_source *h5 = (const h5_source *)source;
    if (region->count == 0 || region->row1 == region->row0) return QB_OK;
    if (h5->reader && !h5->ours) return read_sent(h5, region, out);
    if (h5->ours) return qb__h5_chunks_read(&h5->chunks, h5->set, h5->rank, source, region, out);
    const size_t image = (region->row1 - region->row0) * source->shape[2] * qb_dtype_size(source->dtype);
    qb__region rest = *region;
    qb_status status = QB_OK;
    while (rest.count > 0 && status == QB_OK) {
        qb__region part = rest;
        part.count = images_at_once(h5, &rest);
        qb__h5_enter();
        status = qb__h5_judge(read_locked(h5, &part, out), source->path);
        qb__h5_leave();
        rest.first += part.count * rest.step;
        rest.count -= part.count;
        out = (char *)out + part.count * image;
    }
    return status;
}

static void release_h5(qb__source *source) {
    h5_source *h5 = (h5_source *)source;
    qb__h5_places_release(&h5->chunks.places);
    qb__guard_reader_close(h5->reader);
    qb__h5_enter();
    if (h5->type > 0) H5Tclose(h5->type);
    if (h5->set > 0) H5Dclose(h5->set);
    qb__h5_leave();
}

/* Memory of HDF5 for the positions of chunks, until its cache is full (qb__h5_open). */
static size_t index_memory(uint64_t chunks) {
    enum { LEAST = 64 << 10, EACH = 400, MOST = QB__H5_INDEX };
    return chunks < (MOST - LEAST) / EACH ? LEAST + (size_t)chunks * EACH : MOST;
}

/* Other memory if HDF5 unpacks chunks itself: its cache of 1 MiB, and a chunk packed and unpacked. A larger cache held
 * up to five times its limit, so callers that need chunks again read more rows at once instead. */
static size_t chunk_memory(const size_t chunk[3], size_t size) {
    enum { CACHE = 1 << 20 };
    return CACHE + 2 * chunk[0] * chunk[1] * chunk[2] * size;
}

/* Check that every chunk exists. A shape that vastly exceeds the written data is an attack or an accident. */
static qb_status check_chunks(hid_t set, const char *path, const size_t chunk[3], const size_t shape[3],
                              uint64_t *there, uint64_t *missing) {
    hsize_t written = 0;
    hid_t space = H5Dget_space(set);
    herr_t failed = H5Dget_num_chunks(set, space, &written);
    H5Sclose(space);
    if (failed < 0) return qb__h5_fail(QB_BAD_INPUT, path, "its chunks");
    uint64_t wanted = 1;
    for (int i = 0; i < 3; i++) {
        if (__builtin_mul_overflow(wanted, (shape[i] + chunk[i] - 1) / chunk[i], &wanted)) wanted = UINT64_MAX;
    }
    if (written == 0)
        return qb__fail(QB_BAD_INPUT, "%s: none of its %llu chunks was ever written", path, (unsigned long long)wanted);
    *there = written;
    *missing = wanted > written ? wanted - written : 0;
    if (*missing / 1000 > written)
        return qb__fail(QB_BAD_INPUT, "%s: only %llu of its %llu chunks were written", path,
                        (unsigned long long)written, (unsigned long long)wanted);
    return QB_OK;
}

static bool same_bytes(hid_t stored, hid_t ours) {
    return H5Tequal(stored, ours) > 0 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* The dataset may be in another file, behind an external link. */
static qb_status open_plain(hid_t set, const char *path, qb_dtype dtype, const size_t shape[3], haddr_t offset,
                            qb__source **source) {
    char file[4096];
    if (H5Fget_name(set, file, sizeof file) < 0) return qb__h5_fail(QB_INTERNAL, path, "the name of its file");
    qb__plain layout = {.format = "HDF5", .dtype = dtype, .shape = {shape[0], shape[1], shape[2]}, .offset = offset};
    qb_status status = qb__plain_open(file, &layout, source);
    if (status != QB_OK) return qb__fail_in(status, "%s", path);
    char *name = qb__strdup(path);
    if (!name) return QB_OK; /* the file's own name is used */
    qb__free((*source)->path);
    (*source)->path = name;
    return QB_OK;
}

static qb_status open_h5(const h5_source *found, const char *path, qb__source **source) {
    h5_source *h5;
    QB__OR_RETURN(qb__source_create(sizeof *h5, "HDF5", path, &h5));
    qb__source named = h5->base;
    *h5 = *found;
    h5->base.format = named.format;
    h5->base.path = named.path;
    h5->base.threads = found->ours ? named.threads : 1;
    h5->base.read = read_h5;
    h5->base.release = release_h5;
    *source = &h5->base;
    return QB_OK;
}

/* Layout and storage of an open dataset; what is not kept in *source is closed. */
static qb_status open_dataset(const char *label, h5_source *h5, qb__source **source) {
    hid_t plist = H5Dget_create_plist(h5->set), stored = H5Dget_type(h5->set);
    H5D_layout_t layout = H5Pget_layout(plist);
    size_t *shape = h5->base.shape, *chunk = h5->base.chunk;
    uint64_t there = 0, missing = 0;
    size_t cache = 0, each = 0;
    qb_status status = QB_OK;
    for (int i = 0; i < 3; i++) chunk[i] = 1;
    QB__TRY(qb__h5_check_external(h5->set));
    if (stored < 0 || !dtype_of(stored, &h5->base.dtype)) {
        status = qb__h5_refuse_type(stored, label);
        goto out;
    }
    size_t size = qb_dtype_size(h5->base.dtype), count, bytes;
    h5->type = qb__h5_type(h5->base.dtype);
    if (!qb__mul(shape[0], shape[1], shape[2], &count) || !qb__mul(count, size, 1, &bytes))
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s: %zu x %zu x %zu values are too many", label, shape[0], shape[1], shape[2]));
    haddr_t offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(h5->set) : HADDR_UNDEF;
    if (offset != HADDR_UNDEF && same_bytes(stored, h5->type)) {
        status = open_plain(h5->set, label, h5->base.dtype, shape, offset, source);
        goto out;
    }
    if (layout != H5D_CHUNKED && layout != H5D_VIRTUAL && H5Dget_storage_size(h5->set) < bytes)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s: its %zu bytes were never written", label, bytes));
    if (layout == H5D_VIRTUAL && h5->stored > 3) {
        status =
            qb__fail(QB_UNSUPPORTED, "%s is a virtual dataset of %d dimensions: map it with three", label, h5->stored);
        goto out;
    }
    if (layout == H5D_VIRTUAL) {
        char file[4096];
        if (H5Fget_name(h5->set, file, sizeof file) < 0)
            status = qb__h5_fail(QB_INTERNAL, label, "the name of its file");
        if (status == QB_OK) status = qb__h5_check_mapped(plist, label, file, qb__h5_source, h5->rank, &h5->base);
        if (status == QB_OK) status = qb__h5_virtual(plist, label, file, qb__h5_source, &h5->base, source);
        if (status != QB_OK || *source) goto out;
    }
    if (layout == H5D_CHUNKED) {
        hsize_t n[H5S_MAX_RANK];
        const bool got = H5Pget_chunk(plist, h5->stored, n) == h5->stored;
        for (int i = 0; i < 3; i++)
            if (got && h5->kept[i] >= 0) chunk[i] = (size_t)n[h5->kept[i]];
        const bool known =
            h5->stored <= 3 && same_bytes(stored, h5->type) && qb__h5_chunks_known(plist, chunk, size, &h5->chunks);
        if (!known) QB__TRY(qb__h5_check_filters(h5->set, plist, label));
        QB__TRY(check_chunks(h5->set, label, chunk, shape, &there, &missing));
        /* Unwritten values are the fill value, which HDF5 knows. */
        h5->ours = known && !missing;
        if (known && missing) QB__TRY(qb__h5_check_filters(h5->set, plist, label));
        if (h5->ours) {
            h5->chunks.reader = h5->reader;
            qb__h5_places_find(h5->set, h5->rank, shape, chunk, qb__h5_chunks_most(&h5->chunks), &h5->chunks.places);
        }
        cache = index_memory(there) + (h5->ours ? 0 : chunk_memory(chunk, size));
        each = h5->ours ? qb__h5_chunks_memory(&h5->chunks) : 0;
    }
    QB__TRY(open_h5(h5, label, source));
    if (h5->reader) cache = 0; /* the other process has it */
    if (h5->chunks.places.stored) cache += (size_t)there * sizeof *h5->chunks.places.stored;
    (*source)->cache = cache;
    (*source)->cache_each = each;
    (*source)->unwritten = missing;
    if (missing)
        qb__print(
            (*source)->trouble, sizeof(*source)->trouble,
            "%llu chunks of the data were never written: they read as the fill value" QB__CODE("unwritten-chunks"),
            (unsigned long long)missing);
out:
    if (stored >= 0) H5Tclose(stored);
    H5Pclose(plist);
    if (!*source || (*source)->read != read_h5) {
        if (*source)
            (*source)->holes = h5->base.holes;
        else
            qb__free(h5->base.holes);
        qb__h5_places_release(&h5->chunks.places);
        if (h5->type > 0) H5Tclose(h5->type);
        if (h5->set > 0) H5Dclose(h5->set);
        qb__guard_reader_close(h5->reader);
    }
    return status;
}

/* Sizes and scales; one that exists must be a number. */
static qb_status read_lengths(hid_t file, const char *path, const char *label, qb__source **source) {
    static const char *const keys[] = {"voxel_size_x", "voxel_size_y",  "voxel_size_z", "offset_x",     "offset_y",
                                       "offset_z",     "scale_low",     "scale_high",   "scale_factor", "add_offset",
                                       "z_down",       "missing_value", "_FillValue"};
    double slope = 1, intercept = 0, down = 0, missing[2] = {NAN, NAN}; /* of the CF convention, but for `down` */
    double *const voxel = (*source)->voxel, *const offset = (*source)->offset, *const scale = (*source)->scale;
    double *const to[] = {&voxel[0], &voxel[1], &voxel[2],  &offset[0], &offset[1],  &offset[2], &scale[0],
                          &scale[1], &slope,    &intercept, &down,      &missing[0], &missing[1]};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (H5Aexists_by_name(file, path, keys[i], H5P_DEFAULT) <= 0) continue;
        const bool number = qb__h5_number(file, path, keys[i], to[i]);
        const bool may_lack = to[i] == &missing[0] || to[i] == &missing[1];
        if (number && (isfinite(*to[i]) || may_lack)) continue;
        if (may_lack) {
            *to[i] = NAN;
            qb__print((*source)->trouble, sizeof(*source)->trouble,
                      "its %s is not one number: it is not used" QB__CODE("metadata-unusable"), keys[i]);
            continue;
        }
        qb__source_close(*source);
        *source = NULL;
        return qb__fail(QB_BAD_INPUT, "%s: its attribute %s is not a number", label, keys[i]);
    }
    (*source)->z_down = down != 0;
    if (missing[0] != missing[1] && !isnan(missing[1])) {
        QB__OR_RETURN(qb__source_values(source, 1, 0, missing[0]));
        missing[0] = missing[1];
    }
    return qb__source_values(source, slope, intercept, missing[0]);
}

/* Statements about the numbers that are not applied: the range of valid numbers (CF convention), NXdata's factor. */
static void tell_unused(hid_t file, const char *path, qb__source *source) {
    static const char *const keys[] = {"valid_range", "valid_min", "valid_max"};
    char factor[700];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (H5Aexists_by_name(file, path, keys[i], H5P_DEFAULT) > 0 && !*source->trouble)
            qb__print(
                source->trouble, sizeof source->trouble,
                "its %s is not applied: mark numbers beyond it as NaN, or give --mask" QB__CODE("metadata-unusable"),
                keys[i]);
    snprintf(factor, sizeof factor, "%.600s_scaling_factor", path);
    if (qb__h5_exists(file, factor) && !*source->trouble)
        qb__print(source->trouble, sizeof source->trouble,
                  "its _scaling_factor is not applied: multiply the data, or state scale_factor" QB__CODE(
                      "metadata-unusable"));
}

qb_status qb__h5_source(hid_t file, const char *name, const char *path, qb__source **source) {
    char label[1024], all[160];
    *source = NULL;
    snprintf(label, sizeof label, "%s:%s", name, path);
    h5_source h5 = {.chunks.places.fd = -1};
    if (!qb__h5_exists(file, path)) return qb__fail(QB_NOT_FOUND, "%s is not there", label);
    if (!qb__h5_shape(file, path, &h5.rank, h5.base.shape) || h5.rank < 2)
        return qb__h5_refuse_shape(file, path, label);
    if (!h5.base.shape[0] || !h5.base.shape[1] || !h5.base.shape[2])
        return qb__fail(QB_BAD_INPUT, "%s is empty: %zu x %zu x %zu", label, h5.base.shape[0], h5.base.shape[1],
                        h5.base.shape[2]);
    h5.set = qb__h5_dataset(file, path);
    if (h5.set < 0) return qb__h5_fail(QB_BAD_INPUT, label, "opening it");
    h5.stored = qb__h5_dimensions(h5.set, h5.kept, all, sizeof all);
    qb_status status = qb__guard_reader_create(name, path, &h5.reader);
    if (status != QB_OK) {
        H5Dclose(h5.set);
        return status;
    }
    QB__OR_RETURN(open_dataset(label, &h5, source));
    if (h5.stored > 3)
        qb__source_tell(*source, "dimensions of 1 are left out: %s is read as %zu x %zu x %zu", all, h5.base.shape[0],
                        h5.base.shape[1], h5.base.shape[2]);
    bool stated = H5Aexists_by_name(file, path, "quantity", H5P_DEFAULT) != 0; /* or unknown */
    if (!qb__h5_text(file, path, "quantity", (*source)->quantity, sizeof(*source)->quantity) && stated) {
        qb__source_close(*source);
        *source = NULL;
        return qb__fail(QB_BAD_INPUT, "%s: its quantity, which says what the numbers are, cannot be read", label);
    }
    qb__h5_text(file, path, "units", (*source)->units, sizeof(*source)->units);
    tell_unused(file, path, *source);
    char beam[16];
    if (qb__h5_text(file, path, "beam", beam, sizeof beam)) (*source)->beam = qb__beam_named(beam);
    return read_lengths(file, path, label, source);
}
