/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dist/mpi.h"

/* Open the object that connects the ranks, with its MPI library; NULL with the reason in `why`. openmpi: try the
 * libraries of Open MPI first. version (may be NULL): version and file of the MPI library. */
enum { QB__MPI_VERSION = 256 };
qb__mpi_open *qb__mpi_find(bool openmpi, char version[QB__MPI_VERSION], char *why, size_t size);
/* The name of the MPI library of the launcher (Open MPI's or MPICH's) if neither the system nor the folder of QB_LIBMPI
 * has it; else NULL. */
const char *qb__mpi_missing(bool openmpi);
