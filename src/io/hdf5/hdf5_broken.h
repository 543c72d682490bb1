/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef QB_HAVE_HDF5
#include <hdf5.h>

/* H5Dopen2, except for datasets that failed when the file was tried: those fail here without opening. */
hid_t qb__h5_dataset(hid_t place, const char *path);
/* In the process that tries a file: print the names of those that fail to standard output. */
void qb__h5_tell_broken(void);
/* Store what such a process printed. */
void qb__h5_note_broken(const char *list, size_t bytes);
/* Forget a file that will be tried again. */
void qb__h5_forget_broken(const char *path);
#else
static inline void qb__h5_note_broken(const char *list, size_t bytes) { (void)list, (void)bytes; }
static inline void qb__h5_forget_broken(const char *path) { (void)path; }
#endif
