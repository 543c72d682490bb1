/* SPDX-License-Identifier: MIT */
/* Everything except images in an HDF5 file that we write. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_own.h"
#include "io/writer.h"

static hid_t make_set(hid_t file, const char *path, hid_t type, int rank, const size_t *shape, const void *data) {
    return qb__h5_make_set(file, path, type, rank, shape, data, H5P_DEFAULT);
}

bool qb__h5_put_string(hid_t file, const char *path, const char *text) {
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

/* The times of the flats, in the form that qb__exchange_scan() reads. */
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
    if (stack->z_down) good = good && qb__h5_put_number(set, "z_down", 1);
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

/* The images' dataset: space for them, or links to the parts, or chunks. */
static hid_t make_data(hid_t file, qb_writer *writer) {
    static const char path[] = "/exchange/data";
    const qb_stack *stack = &writer->stack;
    const qb__h5_parts *parts = qb__h5_parts_of(writer);
    const qb__h5_packed *packed = qb__h5_packed_of(writer);
    hid_t type = qb__h5_type(stack->dtype), layout = H5P_DEFAULT;
    if (parts) layout = qb__h5_parts_layout(parts, stack, type);
    if (packed) layout = qb__h5_packed_layout(packed, stack->dtype);
    hid_t set = layout < 0 ? layout : qb__h5_make_set(file, path, type, 3, stack->shape, NULL, layout);
    haddr_t offset = set < 0 || parts || packed ? 0 : H5Dget_offset(set);
    if (offset == HADDR_UNDEF) {
        H5Dclose(set);
        set = H5I_INVALID_HID;
    }
    writer->data_offset = offset;
    if ((parts || packed) && layout >= 0) H5Pclose(layout);
    H5Tclose(type);
    return set;
}

/* As NeXus' pixel_mask: bit 8 is a pixel that a user has masked, bit 1 a dead one. */
static bool put_mask(hid_t file, const qb_stack *stack) {
    const size_t shape[2] = {stack->shape[1], stack->shape[2]}, pixels = shape[0] * shape[1];
    uint32_t *bits;
    if (!stack->mask) return true;
    if (qb__alloc(pixels, sizeof *bits, &bits) != QB_OK) return false;
    for (size_t i = 0; i < pixels; i++)
        if (stack->mask[i]) bits[i] = stack->mask[i] == QB_PIXEL_MASKED ? 1 << 8 : 1 << 1;
    hid_t set = qb__h5_make_set(file, "/exchange/pixel_mask", H5T_STD_U32LE, 2, shape, bits, H5P_DEFAULT);
    qb__free(bits);
    return set >= 0 && H5Dclose(set) >= 0;
}

bool qb__h5_fill(hid_t file, qb_writer *writer, const double *degrees) {
    const qb_stack *stack = &writer->stack;
    bool projections = qb__stack_is_projections(stack);
    hid_t set = make_data(file, writer);
    if (set < 0) return false;
    const qb__h5_parts *parts = qb__h5_parts_of(writer);
    bool good = describe_data(set, stack, projections) && (!parts || qb__h5_put_text(file, "volume_id", parts->id));
    H5Dclose(set);
    if (projections)
        good = good && put_fields(file, "/exchange/data_white", stack->flats, "theta_white:y:x") &&
               put_flat_views(file, stack) && put_fields(file, "/exchange/data_dark", stack->darks, "theta_dark:y:x") &&
               put_theta(file, stack, degrees) && put_detector(file, stack) && put_mask(file, stack);
    return good &&
           qb__h5_put_string(file, "/implements", projections ? "exchange:measurement:process" : "exchange:process");
}
