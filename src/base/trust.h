/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_TRUST_H
#define QB_BASE_TRUST_H

#include <sys/stat.h>

/* Files that the library keeps (compiled kernels, system matrix, state of a descent) are read without checking every
 * number. They are used only if no other user could have written them. Returns why a file is not trusted, with the
 * remedy; NULL = trusted. */
const char *qb__distrust(const struct stat *about);

#endif
