/* SPDX-License-Identifier: MIT */
/* Datasets that cannot be images: messages with what they are, and the remedy. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"

qb_status qb__h5_refuse_shape(hid_t file, const char *path, const char *label) {
    char text[200];
    int kept[3];
    hid_t set = qb__h5_dataset(file, path);
    const int rank = qb__h5_dimensions(set, kept, text, sizeof text);
    if (set >= 0) H5Dclose(set);
    if (rank < 3) return qb__fail(QB_BAD_INPUT, "%s is not an array of two or three dimensions", label);
    return qb__fail(
        QB_BAD_INPUT,
        "%s has %d dimensions, %s: store one scan as [view][row][column], in Python data.reshape(views, rows, columns)",
        label, rank, text);
}

qb_status qb__h5_refuse_type(hid_t type, const char *label) {
    static const char *const names[] = {[H5T_STRING] = "text",
                                        [H5T_BITFIELD] = "bit fields",
                                        [H5T_COMPOUND] = "compound or complex numbers",
                                        [H5T_ENUM] = "truth values or names of values (enum)"};
    const size_t class = type < 0 ? 0 : (size_t)H5Tget_class(type);
    char what[48] = "something else";
    if (class == H5T_INTEGER || class == H5T_FLOAT)
        snprintf(what, sizeof what, "%zu-bit %s", 8 * H5Tget_size(type), class == H5T_FLOAT ? "floats" : "integers");
    else if (class < sizeof names / sizeof *names && names[class])
        snprintf(what, sizeof what, "%s", names[class]);
    return qb__fail(QB_UNSUPPORTED,
                    "%s holds %s; integers of 8, 16 or 32 bits and floats can be read: store it so, in Python "
                    "data.astype('float32')",
                    label, what);
}
