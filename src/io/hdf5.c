/* SPDX-License-Identifier: MIT */
#ifdef QB_HAVE_HDF5
#include "io/hdf5.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"

/* The library's state is the process's, so its lock has to be, too. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int depth;
static H5E_auto2_t printer;
static void *printer_data;

void qb__h5_enter(void) {
    pthread_mutex_lock(&lock);
    if (depth++) return;
    static bool limited; /* under the lock */
    if (!limited) {
        /* What HDF5 frees goes back at once: its own lists would not show in any forecast. */
        H5set_free_list_limits(0, 0, 0, 0, 0, 0);
        limited = true;
    }
    H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void qb__h5_leave(void) {
    if (--depth == 0) H5Eset_auto2(H5E_DEFAULT, printer, printer_data);
    pthread_mutex_unlock(&lock);
}

static herr_t innermost(unsigned n, const H5E_error2_t *error, void *user) {
    char *words = user;
    if (n == 0 && error->desc) snprintf(words, 200, "%s", error->desc);
    return 0;
}

qb_status qb__h5_fail(qb_status status, const char *path, const char *what) {
    char words[200] = "HDF5 gives no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, words);
    return qb__fail(status, "%s: %s: %s", path, what, words);
}

qb_status qb__h5_open(const char *path, hid_t *file) {
    uint64_t bytes;
    *file = H5I_INVALID_HID;
    qb_status status = qb__file_size(path, &bytes);
    if (status != QB_OK) return status;
    *file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (*file >= 0) return QB_OK;
    char what[80];
    snprintf(what, sizeof what, "cannot be read as HDF5 (%llu bytes)", (unsigned long long)bytes);
    return qb__h5_fail(QB_BAD_INPUT, path, what);
}

bool qb__h5_exists(hid_t file, const char *path) {
    char part[1024];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part) return false;
    if (strcmp(path, "/") == 0) return true;
    /* HDF5 wants each step of a path proved before the next. */
    for (size_t i = 1; i <= n; i++) {
        if (path[i] && path[i] != '/') continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (H5Lexists(file, part, H5P_DEFAULT) <= 0) return false;
        if (H5Oexists_by_name(file, part, H5P_DEFAULT) <= 0) return false;
    }
    return true;
}

bool qb__h5_shape(hid_t file, const char *path, int *rank, size_t shape[3]) {
    if (!qb__h5_exists(file, path)) return false;
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    if (set < 0) return false;
    hid_t space = H5Dget_space(set);
    hsize_t n[H5S_MAX_RANK];
    *rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool good = *rank >= 1 && *rank <= 3 && H5Sget_simple_extent_dims(space, n, NULL) == *rank;
    for (int i = 0; good && i < 3; i++) shape[i] = i < 3 - *rank ? 1 : (size_t)n[i - 3 + *rank];
    if (space >= 0) H5Sclose(space);
    H5Dclose(set);
    return good;
}

qb_status qb__h5_numbers(hid_t file, const char *name, const char *path, size_t limit,
                         double **values, size_t *count) {
    *values = NULL;
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    if (set < 0) return qb__h5_fail(QB_NOT_FOUND, name, path);
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    qb_status status;
    if (points < 0 || (class != H5T_INTEGER && class != H5T_FLOAT && class != H5T_ENUM))
        status = qb__fail(QB_BAD_INPUT, "%s:%s does not hold numbers", name, path);
    else if ((size_t)points > limit)
        status = qb__fail(QB_BAD_INPUT, "%s:%s holds %lld numbers; at most %zu make sense", name,
                          path, (long long)points, limit);
    else
        status = qb__alloc((size_t)points, sizeof **values, values);
    *count = points < 0 ? 0 : (size_t)points;
    if (status == QB_OK && points > 0 &&
        H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, name, path);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    H5Dclose(set);
    if (status != QB_OK) {
        qb__free(*values);
        *values = NULL;
    }
    return status;
}

/* Fixed and variable strings differ in who owns the bytes. */
static bool read_text(hid_t object, hid_t type, hid_t space, bool attribute, char *text,
                      size_t size) {
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (H5Tget_class(type) != H5T_STRING || points != 1) return false;
    bool variable = H5Tis_variable_str(type) > 0;
    size_t length = variable ? sizeof(char *) : H5Tget_size(type);
    if (length > 1 << 20) return false;
    char *buffer;
    if (qb__alloc(length + 1, 1, &buffer) != QB_OK) return false;
    hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, variable ? H5T_VARIABLE : length + 1);
    H5Tset_cset(memory, H5Tget_cset(type));
    herr_t failed = attribute ? H5Aread(object, memory, buffer)
                              : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
    if (failed >= 0 && variable) {
        char *owned;
        memcpy(&owned, buffer, sizeof owned);
        snprintf(text, size, "%s", owned ? owned : "");
        H5free_memory(owned);
    } else if (failed >= 0) {
        snprintf(text, size, "%s", buffer);
    }
    H5Tclose(memory);
    qb__free(buffer);
    return failed >= 0;
}

bool qb__h5_text(hid_t file, const char *path, const char *attribute, char *text, size_t size) {
    text[0] = 0;
    if (!qb__h5_exists(file, path)) return false;
    hid_t object = attribute ? H5Aopen_by_name(file, path, attribute, H5P_DEFAULT, H5P_DEFAULT)
                             : H5Dopen2(file, path, H5P_DEFAULT);
    if (object < 0) return false;
    hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object);
    hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
    bool good =
        type >= 0 && space >= 0 && read_text(object, type, space, attribute != NULL, text, size);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (attribute)
        H5Aclose(object);
    else
        H5Dclose(object);
    return good;
}

bool qb__h5_number(hid_t file, const char *path, const char *attribute, double *number) {
    if (!qb__h5_exists(file, path)) return false;
    hid_t object = H5Aopen_by_name(file, path, attribute, H5P_DEFAULT, H5P_DEFAULT);
    if (object < 0) return false;
    hid_t space = H5Aget_space(object), type = H5Aget_type(object);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    bool good = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                (class == H5T_FLOAT || class == H5T_INTEGER) &&
                H5Aread(object, H5T_NATIVE_DOUBLE, number) >= 0;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    H5Aclose(object);
    return good;
}

typedef struct unit {
    const char *word;
    double factor;
} unit;

static double find_unit(const unit *units, const char *word) {
    for (const unit *row = units; row->word; row++)
        if (strcasecmp(row->word, word) == 0) return row->factor;
    return 0.0;
}

double qb__length_unit(const char *word) {
    static const unit units[] = {
        {"mm", 1.0},         {"millimeter", 1.0}, {"millimetre", 1.0},  {"m", 1e3},
        {"meter", 1e3},      {"metre", 1e3},      {"cm", 10.0},         {"um", 1e-3},
        {"micron", 1e-3},    {"microns", 1e-3},   {"micrometer", 1e-3}, {"micrometre", 1e-3},
        {"\xc2\xb5m", 1e-3}, {"\xce\xbcm", 1e-3}, {"nm", 1e-6},         {"nanometer", 1e-6},
        {NULL, 0.0},
    };
    return find_unit(units, word);
}

double qb__angle_unit(const char *word) {
    static const double degree = 3.14159265358979323846 / 180.0;
    const unit units[] = {
        {"deg", degree},      {"degs", degree}, {"degree", degree}, {"degrees", degree},
        {"\xc2\xb0", degree}, {"rad", 1.0},     {"rads", 1.0},      {"radian", 1.0},
        {"radians", 1.0},     {NULL, 0.0},
    };
    return find_unit(units, word);
}
#else
typedef int qb__no_hdf5; /* an empty file is no C */
#endif
