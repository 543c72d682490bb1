/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/status.h"

/* For the command of the same build; not a part of the public interface.
 *
 * The HDF5 library and cfitsio crash, or never end, on some malformed files. To survive them, the command sets itself as
 * the program to start, by its path, with two or three words: `argument`, the file, and the dataset if one is given. That
 * program runs before this process first opens such a file. It limits its memory and computing time (RLIMIT_AS,
 * RLIMIT_CPU), calls qb_tool_guard_try() and exits with 0, or with QB__GUARD_NO_MEMORY if memory runs out. If it is
 * killed or exits otherwise, the file is QB_BAD_INPUT. Such a process also reads the images that these libraries must
 * read: then it is started with a fourth word, "serve", and calls qb_tool_guard_serve(). Both texts must stay valid.
 * NULL (the default): files are trusted, and read in this process. */
QB_API void qb_tool_guard(const char *program, const char *argument);
enum { QB__GUARD_NO_MEMORY = 9 };
/* Read all of a file's metadata and a little data, as later calls will do. */
QB_API qb_status qb_tool_guard_try(const char *path, const char *dataset);
/* Read images of the dataset for the process that started this one, over standard input and output, until it ends. */
QB_API qb_status qb_tool_guard_serve(const char *path, const char *dataset);
