/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_GUARD_H
#define QB_IO_HDF5_GUARD_H

#include "quickbeam/status.h"

/* For the command of the same build; no part of the library's interface.
 *
 * The HDF5 library crashes, or never ends, on some malformed files. The command survives them: it names itself as the
 * program to start, by its path, with two or three words: `argument`, the file, and the dataset where one is asked for.
 * That program runs before this process first opens an HDF5 file. It limits its memory and its time of computing
 * (RLIMIT_AS, RLIMIT_CPU), calls qb_tool_hdf5_try() and exits with 0, or with 9 for want of memory. When it is killed or
 * exits otherwise, the file is QB_BAD_INPUT. Such a process also reads the images that the HDF5 library has to read: it is
 * started with a fourth word, "serve", and calls qb_tool_hdf5_serve(). Both texts must live on. NULL, as at first: files
 * are trusted, and read in this process. */
QB_API void qb_tool_hdf5_guard(const char *program, const char *argument);
/* Go through all of a file's metadata and read a little, as any later call will. */
QB_API qb_status qb_tool_hdf5_try(const char *path, const char *dataset);
/* Read images of the dataset for the process that started this one, over standard input and output, until it ends. */
QB_API qb_status qb_tool_hdf5_serve(const char *path, const char *dataset);

#endif
