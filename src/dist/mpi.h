/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"

/* The function that libquickbeam_mpi*.so, the only objects that call MPI, export as QB__MPI_OPEN: it connects the ranks
 * and fills in the transport's part of a comm. `bytes` is the caller's sizeof(qb_ranks). False with comm->trouble. It
 * cannot call the library, whose internal symbols are hidden. */
#define QB__MPI_OPEN "qb_mpi_open"
typedef bool qb__mpi_open(size_t bytes, qb__comm *comm);
