/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* fallocate */
/* Attributes, datasets and allocation in an HDF5 file that is being written. */
#include "io/hdf5/hdf5_own.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "io/publish/paths.h"

bool qb__h5_put_text(hid_t object, const char *name, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

bool qb__h5_put_number(hid_t object, const char *name, double number) {
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, &number) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    return good;
}

/* Groups on the path are created as needed. */
hid_t qb__h5_make_set(hid_t file, const char *path, hid_t type, int rank, const size_t *shape, const void *data,
                      hid_t layout) {
    hsize_t n[3];
    for (int i = 0; i < rank; i++) n[i] = shape[i];
    hid_t space = rank ? H5Screate_simple(rank, n, NULL) : H5Screate(H5S_SCALAR);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    hid_t create = layout == H5P_DEFAULT ? H5Pcreate(H5P_DATASET_CREATE) : H5Pcopy(layout);
    H5Pset_create_intermediate_group(links, 1);
    if (layout == H5P_DEFAULT) {
        H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    }
    hid_t set = H5Dcreate2(file, path, type, space, links, create, H5P_DEFAULT);
    if (set >= 0 && data && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        H5Dclose(set);
        set = H5I_INVALID_HID;
    }
    H5Pclose(create);
    H5Pclose(links);
    H5Sclose(space);
    return set;
}

/* HDF5 1.10 crashes at exit after a file that it could not flush. So what it is going to write must fit: its own bytes,
 * `room`, on the disk, if the file system can tell; all of it within the largest allowed file size. HDF5 truncates the
 * file to what it needs. */
qb_status qb__h5_reserve(int fd, const char *path, uint64_t images, uint64_t room) {
    struct stat about;
    if (fstat(fd, &about) != 0) return qb__fail_errno(errno, "writing", path);
    off_t from = about.st_size;
    if (ftruncate(fd, from + (off_t)(images + room)) != 0) return qb__fail_writing(errno, path);
    if (fallocate(fd, 0, from, (off_t)room) != 0 && (errno == ENOSPC || errno == EDQUOT))
        return qb__fail_writing(errno, path);
    return QB_OK;
}
