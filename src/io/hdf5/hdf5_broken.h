/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_BROKEN_H
#define QB_IO_HDF5_BROKEN_H

#include <stdbool.h>

#ifdef QB_HAVE_HDF5
#include <hdf5.h>

/* H5Dopen2, but for datasets that failed to open when the file was tried: these are not opened here. */
hid_t qb__h5_dataset(hid_t place, const char *path);
/* In the process that tries a file: names of those that fail go to its standard output. */
void qb__h5_tell_broken(void);
/* What such a process wrote there. */
void qb__h5_note_broken(const char *list, size_t bytes);
/* A file of this name is tried anew. */
void qb__h5_forget_broken(const char *path);
#endif

#endif
