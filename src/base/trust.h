/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/stat.h>

/* Files that the library keeps (compiled kernels, system matrix, state of a descent) are read without checking every
 * number. They are used only if no other user could have written them. Returns why a file is not trusted, with the
 * remedy; NULL = trusted. */
const char *qb__distrust(const struct stat *about);
