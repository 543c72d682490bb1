/* SPDX-License-Identifier: MIT */
#ifndef QB_DIST_MPI_FIND_H
#define QB_DIST_MPI_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "dist/mpi.h"

/* The object that joins the ranks, opened with the MPI library that it takes; NULL with the reason in `why`. openmpi: Open MPI's
 * libraries are tried first. version, which may be NULL: what the MPI library says of itself, and its file. */
enum { QB__MPI_VERSION = 256 };
qb__mpi_open *qb__mpi_find(bool openmpi, char version[QB__MPI_VERSION], char *why, size_t size);
/* The library of Open MPI's launchers, or of MPICH's, in words, where neither the system nor the folder of QB_LIBMPI has it; else NULL. */
const char *qb__mpi_missing(bool openmpi);

#endif
