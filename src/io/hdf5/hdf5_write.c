/* SPDX-License-Identifier: MIT */
#ifdef QB_HAVE_HDF5
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_parts.h"
#include "io/publish/staging.h"
#include "io/writer.h"
#include "quickbeam/geometry.h"

static hid_t make_set(hid_t file, const char *path, hid_t type, int rank, const size_t *shape, const void *data) {
    return qb__h5_make_set(file, path, type, rank, shape, data, H5P_DEFAULT);
}

static bool put_string(hid_t file, const char *path, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t set = make_set(file, path, type, 0, NULL, text);
    H5Tclose(type);
    if (set >= 0) H5Dclose(set);
    return set >= 0;
}

static bool put_scalar(hid_t file, const char *path, double number, const char *units) {
    hid_t set = make_set(file, path, H5T_IEEE_F64LE, 0, NULL, &number);
    bool good = set >= 0 && qb__h5_put_text(set, "units", units);
    if (set >= 0) H5Dclose(set);
    return good;
}

static bool put_fields(hid_t file, const char *path, const qb_array *fields, const char *axes) {
    if (!fields) return true;
    hid_t type = qb__h5_type(fields->dtype);
    hid_t set = make_set(file, path, type, 3, fields->shape, fields->data);
    bool good = set >= 0 && qb__h5_put_text(set, "axes", axes) && qb__h5_put_text(set, "units", "counts");
    if (set >= 0) H5Dclose(set);
    H5Tclose(type);
    return good;
}

/* When flats were taken, as qb__exchange_scan() reads it. */
static bool put_flat_views(hid_t file, const qb_stack *stack) {
    if (!stack->flats || !stack->flat_views) return true;
    hid_t set =
        make_set(file, "/exchange/white_before_view", H5T_IEEE_F64LE, 1, stack->flats->shape, stack->flat_views);
    if (set >= 0) H5Dclose(set);
    return set >= 0;
}

static bool put_theta(hid_t file, const qb_stack *stack, const double *degrees) {
    if (!degrees) return true;
    hid_t set = make_set(file, "/exchange/theta", H5T_IEEE_F64LE, 1, stack->shape, degrees);
    bool good = set >= 0 && qb__h5_put_text(set, "units", "degrees");
    if (set >= 0) H5Dclose(set);
    return good;
}

static bool describe_data(hid_t set, const qb_stack *stack, bool projections) {
    static const char *const names[][2] = {
        {"voxel_size_x", "offset_x"}, {"voxel_size_y", "offset_y"}, {"voxel_size_z", "offset_z"}};
    bool good = qb__h5_put_text(set, "axes", projections ? "theta:y:x" : "z:y:x") &&
                qb__h5_put_text(set, "units", stack->units) && qb__h5_put_text(set, "quantity", stack->quantity);
    if (stack->beam) good = good && qb__h5_put_text(set, "beam", qb_beam_name(stack->beam));
    if (*stack->description) good = good && qb__h5_put_text(set, "description", stack->description);
    for (int i = 0; i < 3; i++) {
        if (stack->voxel[i] > 0.0) good = good && qb__h5_put_number(set, names[i][0], stack->voxel[i]);
        if (!projections) good = good && qb__h5_put_number(set, names[i][1], stack->offset[i]);
    }
    if (stack->scale_high > stack->scale_low)
        good = good && qb__h5_put_number(set, "scale_low", stack->scale_low) &&
               qb__h5_put_number(set, "scale_high", stack->scale_high);
    if (projections && stack->axis_stated && isfinite(stack->axis))
        good = good && qb__h5_put_number(set, "rotation_axis_column", ((double)stack->shape[2] - 1) / 2 + stack->axis);
    return good && qb__h5_put_number(set, "first_image", (double)stack->first);
}

static bool put_detector(hid_t file, const qb_stack *stack) {
    static const char *const paths[] = {"/measurement/instrument/detector/pixel_size_x",
                                        "/measurement/instrument/detector/pixel_size_y"};
    bool good = true;
    for (int i = 0; i < 2; i++)
        if (stack->voxel[i] > 0.0) good = good && put_scalar(file, paths[i], stack->voxel[i], "mm");
    return good;
}

/* The images' dataset: room for them, or where the parts that have them lie. */
static hid_t make_data(hid_t file, qb_writer *writer) {
    static const char path[] = "/exchange/data";
    const qb_stack *stack = &writer->stack;
    const qb__h5_parts *parts = writer->own;
    hid_t type = qb__h5_type(stack->dtype), layout = H5P_DEFAULT;
    if (parts) layout = qb__h5_parts_layout(parts, stack, type);
    hid_t set = layout < 0 ? layout : qb__h5_make_set(file, path, type, 3, stack->shape, NULL, layout);
    haddr_t offset = set < 0 || parts ? 0 : H5Dget_offset(set);
    if (offset == HADDR_UNDEF) {
        H5Dclose(set);
        set = H5I_INVALID_HID;
    }
    writer->data_offset = offset;
    if (parts && layout >= 0) H5Pclose(layout);
    H5Tclose(type);
    return set;
}

static bool fill_file(hid_t file, qb_writer *writer, const double *degrees) {
    const qb_stack *stack = &writer->stack;
    bool projections = qb__stack_is_projections(stack);
    hid_t set = make_data(file, writer);
    if (set < 0) return false;
    const qb__h5_parts *parts = writer->own;
    bool good = describe_data(set, stack, projections) && (!parts || qb__h5_put_text(file, "volume_id", parts->id));
    H5Dclose(set);
    if (projections)
        good = good && put_fields(file, "/exchange/data_white", stack->flats, "theta_white:y:x") &&
               put_flat_views(file, stack) && put_fields(file, "/exchange/data_dark", stack->darks, "theta_dark:y:x") &&
               put_theta(file, stack, degrees) && put_detector(file, stack);
    return good && put_string(file, "/implements", projections ? "exchange:measurement:process" : "exchange:process");
}

/* Also where HDF5 passes over it, as on closing a dataset. The system's reason where HDF5 tells it; a full disk shows in errno only. */
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
    hid_t file = H5Fcreate(writer->part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool good = file >= 0 && fill_file(file, writer, degrees);
    if (file >= 0 && H5Fclose(file) < 0) good = false;
    if (!good || qb__h5_has_fault()) status = write_failed(writer, what);
    qb__h5_leave();
    return status;
}

static size_t overhead_hdf5(const qb_writer *writer) {
    return 65536 + writer->stack.shape[0] * sizeof(double) + 32768 * writer->stack.parts;
}

static uint64_t bytes_of(const qb_array *fields) {
    return fields ? (uint64_t)qb_array_count(fields) * qb_dtype_size(fields->dtype) : 0;
}

/* NULL: no memory. */
static qb__h5_parts *new_parts(qb_writer *writer) {
    qb__h5_parts *parts;
    if (qb__alloc(1, sizeof *parts, &parts) == QB_OK) writer->own = parts;
    return parts;
}

static qb_status begin_parts(qb_writer *writer) {
    qb__h5_parts *parts = new_parts(writer);
    if (!parts) return QB_NO_MEMORY;
    return writer->taken_up ? qb__h5_parts_resume(writer, parts) : qb__h5_parts_begin(writer, parts);
}

/* As HDF5 has closed it: where the data go. */
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
    return qb__fail(QB_BAD_INPUT, "%s is kept and is no such HDF5 file: remove it to start anew", writer->part);
}

/* HDF5 makes the file and says where the data go; then it is closed, and they go there by pwrite.
 */
static qb_status begin_hdf5(qb_writer *writer) {
    const qb_stack *stack = &writer->stack;
    double *degrees = NULL;
    const bool spread = stack->parts > 1 && stack->shape[0] > 1 && writer->set;
    uint64_t images = spread ? 0 : (uint64_t)stack->shape[0] * writer->image_bytes;
    uint64_t fields = bytes_of(stack->flats) + bytes_of(stack->darks);
    qb_status status = spread ? begin_parts(writer) : QB_OK;
    if (writer->taken_up) return status == QB_OK ? find_data(writer) : status;
    if (status == QB_OK) status = qb__h5_reserve(writer->fd, writer->path, images, fields + overhead_hdf5(writer));
    if (status != QB_OK) return status;
    size_t n = stack->angles ? stack->shape[0] : 0;
    status = qb__alloc(n, sizeof *degrees, &degrees);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < n; i++) degrees[i] = stack->angles[i] / qb__angle_unit("degrees");
    status = make_file(writer, degrees);
    qb__free(degrees);
    return status;
}

static qb_status finish_hdf5(qb_writer *writer, const char *provenance) {
    qb_status status = writer->own ? qb__h5_parts_finish(writer, writer->own) : QB_OK;
    if (status != QB_OK) return status;
    qb__staging_forget(writer->part); /* who is killed while HDF5 changes the file leaves one that nobody can trust */
    if (writer->own) status = qb__h5_parts_move(writer, writer->own);
    if (status != QB_OK || !*provenance) return status;
    status = qb__h5_reserve(writer->fd, writer->path, 0, 65536 + strlen(provenance));
    if (status != QB_OK) return status;
    qb__h5_enter();
    errno = 0;
    hid_t file = H5Fopen(writer->part, H5F_ACC_RDWR, H5P_DEFAULT);
    bool good = file >= 0 && put_string(file, "/process/quickbeam/provenance", provenance);
    if (file >= 0 && H5Fclose(file) < 0) good = false;
    if (!good || qb__h5_has_fault()) status = write_failed(writer, "its provenance cannot be written");
    qb__h5_leave();
    return status;
}

static qb_status write_hdf5(qb_writer *writer, size_t first, size_t end, const void *data) {
    if (writer->own) return qb__h5_parts_write(writer, writer->own, first, end, data);
    return qb__write_images(writer, first, end, data);
}

static const char *place_hdf5(const qb_writer *writer, qb__writer_location *place) {
    const qb__h5_parts *parts = writer->own;
    if (parts) qb__h5_parts_locate(parts, place);
    return parts ? parts->fresh : NULL;
}

static qb_status join_hdf5(qb_writer *writer, const qb__writer_location *place) {
    qb__h5_parts *parts = new_parts(writer);
    return parts ? qb__h5_parts_join(parts, place) : QB_NO_MEMORY;
}

/* Parts that are cut short were not taken up. */
static bool has_hdf5(const qb_writer *writer, const unsigned char *images) {
    (void)writer, (void)images;
    return true;
}

static void release_hdf5(qb_writer *writer) {
    if (writer->own) qb__h5_parts_release(writer->own);
    qb__free(writer->own);
}

const qb__writer_kind qb__hdf5_writer = {.begin = begin_hdf5,
                                         .write = write_hdf5,
                                         .release = release_hdf5,
                                         .finish = finish_hdf5,
                                         .place = place_hdf5,
                                         .join = join_hdf5,
                                         .overhead = overhead_hdf5,
                                         .has = has_hdf5,
                                         .keeps_fields = true,
                                         .parts = true,
                                         .resumes = true,
                                         .keeps_angles = true,
                                         .keeps_axis = true};
#else
typedef int qb__no_hdf5;
#endif
