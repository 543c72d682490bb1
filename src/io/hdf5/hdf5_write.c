/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_own.h"
#include "io/hdf5/hdf5_places.h"
#include "io/publish/staging.h"
#include "io/writer.h"
#include "quickbeam/geometry.h"

/* Turns a failed write into an error, also one that HDF5 does not report, such as on closing a dataset. The reason
 * comes from HDF5 if it has one; a full disk shows only in errno. */
static qb_status write_failed(const qb_writer *writer, const char *what) {
    int fault = qb__h5_fault(0);
    if (fault) return qb__fail_writing(fault, writer->path);
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return qb__h5_fail(full ? QB_NO_SPACE : QB_IO, writer->path, what);
}

static qb_status make_file(qb_writer *writer, const double *degrees) {
    static const char what[] = "cannot be created";
    qb_status status = QB_OK;
    qb__h5_enter();
    errno = 0;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS); /* use the oldest file layout, which hdf5_index.c can edit */
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(writer->part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    bool good = file >= 0 && qb__h5_fill(file, writer, degrees);
    if (file >= 0 && H5Fclose(file) < 0) good = false;
    if (!good || qb__h5_has_fault()) status = write_failed(writer, what);
    qb__h5_leave();
    return status;
}

/* Disk space of compressed output besides the images: the lists and trees of the chunks, and the layers of images that
 * wait to be compressed. */
static size_t overhead_packed(const qb_writer *writer) {
    enum { LISTED = 80, WAIT = 2 };
    qb__h5_packed p;
    if (!qb__packs(writer) || qb__h5_packed_plan(&writer->stack, &p) != QB_OK) return 0;
    return qb__h5_packed_chunks(&p) * LISTED +
           qb__smaller(WAIT * p.chunk[0], writer->stack.shape[0]) * writer->image_bytes;
}

static size_t overhead_hdf5(const qb_writer *writer) {
    return 65536 + writer->stack.shape[0] * sizeof(double) + 32768 * writer->stack.parts + overhead_packed(writer);
}

static uint64_t bytes_of(const qb_array *fields) {
    return fields ? (uint64_t)qb_array_count(fields) * qb_dtype_size(fields->dtype) : 0;
}

static qb_status make_own(qb_writer *writer, bool parts, bool packed) {
    qb__h5_own *own;
    qb_status status = qb__alloc(1, sizeof *own, &own);
    if (status != QB_OK) return status;
    writer->own = own;
    if (parts) status = qb__alloc(1, sizeof *own->parts, &own->parts);
    if (packed) status = qb__alloc(1, sizeof *own->packed, &own->packed);
    return packed && status == QB_OK ? qb__h5_packed_plan(&writer->stack, own->packed) : status;
}

static qb_status begin_parts(qb_writer *writer) {
    qb__h5_parts *parts = qb__h5_parts_of(writer);
    return writer->taken_up ? qb__h5_parts_resume(writer, parts) : qb__h5_parts_begin(writer, parts);
}

/* Finds the offset of the image data in the file, after HDF5 has closed it. */
static qb_status find_data(qb_writer *writer) {
    const size_t *shape = writer->stack.shape;
    hsize_t n[3] = {0};
    qb__h5_enter();
    hid_t file = H5Fopen(writer->part, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = file < 0 ? H5I_INVALID_HID : H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    hid_t space = set < 0 ? H5I_INVALID_HID : H5Dget_space(set), type = set < 0 ? H5I_INVALID_HID : H5Dget_type(set);
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
                H5Sget_simple_extent_dims(space, n, NULL) == 3 && n[0] == shape[0] && n[1] == shape[1] &&
                n[2] == shape[2] && H5Tget_size(type) == qb_dtype_size(writer->stack.dtype);
    const haddr_t offset = !good ? HADDR_UNDEF : writer->own ? 0 : H5Dget_offset(set);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    if (file >= 0) H5Fclose(file);
    qb__h5_leave();
    writer->data_offset = offset;
    if (offset != HADDR_UNDEF) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s, kept by an earlier run, is not the HDF5 file of this job: remove it to start again",
                    writer->part);
}

/* Check before any image is computed that the chunk index can be added at the end. */
static qb_status check_packed(qb_writer *writer) {
    uint64_t header, chunks, at;
    QB__OR_RETURN(qb__h5_packed_header(writer, &header, &chunks));
    return qb__h5_index_find(writer->fd, writer->path, header, 3, &at);
}

/* HDF5 creates the file and tells the data offset. Then the file is closed, and the images are written with pwrite. */
static qb_status begin_hdf5(qb_writer *writer) {
    const qb_stack *stack = &writer->stack;
    double *degrees = NULL;
    const bool packed = qb__packs(writer), spread = stack->parts > 1 && stack->shape[0] > 1 && writer->set;
    uint64_t images = spread || packed ? 0 : (uint64_t)stack->shape[0] * writer->image_bytes;
    uint64_t fields = bytes_of(stack->flats) + bytes_of(stack->darks) +
                      (stack->mask ? 4 * (uint64_t)stack->shape[1] * stack->shape[2] : 0);
    size_t n = stack->angles ? stack->shape[0] : 0;
    qb_status status = QB_OK;
    if (packed && !writer->set)
        QB__TRY(qb__fail(QB_BAD_ARGUMENT, "%s: a file of one slice is not compressed: give .tif", writer->path));
    if (spread || packed) QB__TRY(make_own(writer, spread, packed));
    if (spread) QB__TRY(begin_parts(writer));
    if (writer->taken_up) {
        QB__TRY(find_data(writer));
    } else {
        QB__TRY(qb__h5_reserve(writer->fd, writer->path, images, fields + overhead_hdf5(writer)));
        QB__TRY(qb__alloc(n, sizeof *degrees, &degrees));
        for (size_t i = 0; i < n; i++) degrees[i] = stack->angles[i] / qb__angle_unit("degrees");
        QB__TRY(make_file(writer, degrees));
    }
    if (packed) QB__TRY(check_packed(writer));
    if (packed) QB__TRY(qb__h5_packed_open(writer, qb__h5_packed_of(writer)));
out:
    qb__free(degrees);
    return status;
}

static qb_status finish_hdf5(qb_writer *writer, const char *provenance) {
    qb__h5_parts *parts = qb__h5_parts_of(writer);
    qb__h5_packed *packed = qb__h5_packed_of(writer);
    qb_status status = parts ? qb__h5_parts_finish(writer, parts) : QB_OK;
    if (packed) status = qb__h5_packed_finish(writer, packed);
    if (status != QB_OK) return status;
    /* HDF5 now changes the file: a run killed here leaves a file that cannot be resumed */
    qb__staging_forget(writer->part);
    if (parts) status = qb__h5_parts_move(writer, parts);
    if (packed) status = qb__h5_packed_index(writer, packed);
    if (status != QB_OK || !*provenance) return status;
    QB__OR_RETURN(qb__h5_reserve(writer->fd, writer->path, 0, 65536 + strlen(provenance)));
    qb__h5_enter();
    errno = 0;
    hid_t file = H5Fopen(writer->part, H5F_ACC_RDWR, H5P_DEFAULT);
    bool good = file >= 0 && qb__h5_put_string(file, "/process/quickbeam/provenance", provenance);
    if (file >= 0 && H5Fclose(file) < 0) good = false;
    if (!good || qb__h5_has_fault()) status = write_failed(writer, "its provenance cannot be written");
    qb__h5_leave();
    return status;
}

static qb_status write_hdf5(qb_writer *writer, size_t first, size_t end, const void *data) {
    if (qb__h5_parts_of(writer)) return qb__h5_parts_write(writer, qb__h5_parts_of(writer), first, end, data);
    if (qb__h5_packed_of(writer)) return qb__h5_packed_write(writer, qb__h5_packed_of(writer), first, end, data);
    return qb__write_images(writer, first, end, data);
}

static const char *place_hdf5(const qb_writer *writer, qb__writer_location *place) {
    const qb__h5_parts *parts = qb__h5_parts_of(writer);
    const qb__h5_packed *packed = qb__h5_packed_of(writer);
    if (parts) qb__h5_parts_locate(parts, place);
    if (packed) place->files = 1;
    return parts ? parts->fresh : packed ? packed->folder : NULL;
}

static qb_status join_hdf5(qb_writer *writer, const qb__writer_location *place) {
    const bool packed = qb__packs(writer);
    QB__OR_RETURN(make_own(writer, !packed, packed));
    return packed ? qb__h5_packed_join(writer, qb__h5_packed_of(writer), place)
                  : qb__h5_parts_join(qb__h5_parts_of(writer), place);
}

/* Whether the kept images are complete. Uncompressed parts were already checked when they were resumed. */
static bool has_hdf5(const qb_writer *writer, const unsigned char *images) {
    const qb__h5_packed *packed = qb__h5_packed_of(writer);
    return !packed || qb__spool_reopen(&packed->spool, images);
}

static size_t each_hdf5(const qb_writer *writer) {
    const qb__h5_packed *packed = qb__h5_packed_of(writer);
    return packed ? qb__h5_packed_memory(packed, writer->stack.dtype) : 0;
}

static void release_hdf5(qb_writer *writer) {
    qb__h5_own *own = writer->own;
    if (!own) return;
    if (own->parts) qb__h5_parts_release(own->parts);
    if (own->packed) qb__h5_packed_release(own->packed);
    QB__FREE(own->parts, own->packed, own);
}

const qb__writer_kind qb__hdf5_writer = {.begin = begin_hdf5,
                                         .write = write_hdf5,
                                         .release = release_hdf5,
                                         .finish = finish_hdf5,
                                         .place = place_hdf5,
                                         .join = join_hdf5,
                                         .overhead = overhead_hdf5,
                                         .has = has_hdf5,
                                         .each = each_hdf5,
                                         .packs = " gzip zstd blosc bitshuffle lz4 ",
                                         .keeps_fields = true,
                                         .parts = true,
                                         .resumes = true,
                                         .keeps_angles = true,
                                         .keeps_axis = true,
                                         .keeps_mask = true};
