/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_TRUST_H
#define QB_BASE_TRUST_H

#include <sys/stat.h>

/* Files that the library keeps for itself (compiled kernels, a system matrix, the state of a descent) are read again without
 * a look at every number: only what nobody but this user could have written is taken. Why that is not so, with the remedy;
 * NULL = it is. */
const char *qb__distrust(const struct stat *about);

#endif
