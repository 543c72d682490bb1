/* SPDX-License-Identifier: MIT */
#ifndef QB_DIST_MPI_H
#define QB_DIST_MPI_H

#include "base/comm.h"

/* What libquickbeam_mpi*.so, the only objects that call MPI, export under the name QB__MPI_OPEN: it joins
 * the others and fills in a comm but for what is comm.c's. `bytes` is the caller's sizeof(qb_ranks). False with
 * comm->trouble. It can call nothing of the library, which hides its insides from it. */
#define QB__MPI_OPEN "qb_mpi_open"
typedef bool qb__mpi_open(size_t bytes, qb__comm *comm);

#endif
