/* SPDX-License-Identifier: MIT */
/* MPI is searched only in a process that an MPI launcher has started. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/mpi_find.h"

/* Variables that launchers set in their processes: Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; MVAPICH; srun
 * --mpi=pmix. A batch script of SLURM has none of them. */
static const struct {
    const char *count, *rank, *with;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL},
                 {"PMI_SIZE", "PMI_RANK", NULL},
                 {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", NULL},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK"}};

static bool number(const char *name, int *value) {
    const char *text = getenv(name);
    char *end;
    const long n = text ? strtol(text, &end, 10) : -1;
    *value = (int)n;
    return text && end != text && !*end && n >= 0 && n < INT_MAX;
}

bool qb_ranks_launched(int *rank, int *count) {
    int unasked[2];
    if (!rank) rank = &unasked[0];
    if (!count) count = &unasked[1];
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (launchers[i].with && !getenv(launchers[i].with)) continue;
        if (number(launchers[i].count, count) && number(launchers[i].rank, rank) && *count > 1) return true;
    }
    *rank = 0, *count = 1;
    return false;
}

static bool by_openmpi(void) { return getenv(launchers[0].count) != NULL; }

/* With the library of another MPI, each process would take itself for the only one. */
static qb_status fail_open(const qb__comm *comm, int rank, int count) {
    const bool mpich = getenv("PMI_SIZE") || getenv("MV2_COMM_WORLD_SIZE");
    const char *missing = comm->count != count && (by_openmpi() || mpich) ? qb__mpi_missing(by_openmpi()) : NULL;
    if (missing)
        return qb__fail(QB_UNSUPPORTED,
                        "rank %d of %d cannot join the others: the launcher needs %s, which is missing: install it, or "
                        "start with the launcher of the MPI that is there",
                        rank, count, missing);
    return qb__fail(QB_IO, "rank %d of %d cannot join the others: %s", rank, count, comm->trouble);
}

static qb__mpi_open *find(int count) {
    char why[1024];
    qb__mpi_open *open = qb__mpi_find(by_openmpi(), NULL, why, sizeof why);
    if (!open)
        qb__fail(QB_UNSUPPORTED,
                 "this is one of %d processes that an MPI launcher has started, and MPI cannot be had (%s): start it "
                 "once, or build quickbeam where MPI's headers are (libopenmpi-dev)",
                 count, why);
    return open;
}

qb_status qb_ranks_library(char *text, size_t size) {
    char version[QB__MPI_VERSION], why[1024];
    QB__NEED(text);
    if (!qb__mpi_find(by_openmpi(), version, why, sizeof why)) return qb__fail(QB_UNSUPPORTED, "%s", why);
    snprintf(text, size, "%s", version);
    return QB_OK;
}

qb_status qb_ranks_open(qb_ranks **ranks) {
    int rank, count;
    QB__NEED(ranks);
    *ranks = NULL;
    if (!qb_ranks_launched(&rank, &count)) return QB_OK;
    qb__mpi_open *open = find(count);
    if (!open) return QB_UNSUPPORTED;
    /* With its default for memory NCCL takes 0.17 s longer to connect two devices. Set before there are threads. */
    setenv("NCCL_CUMEM_ENABLE", "0", 0);
    qb__comm *comm;
    qb_status status = qb__alloc(1, sizeof *comm, &comm);
    if (status != QB_OK) return status;
    *comm = (qb__comm){.rank = rank, .count = count};
    if (!open(sizeof *comm, comm)) {
        status = fail_open(comm, rank, count);
        qb__free(comm);
        return status;
    }
    status = qb__comm_begin(comm);
    if (status != QB_OK) {
        comm->calls->close(comm, 0);
        qb__free(comm);
        return status;
    }
    *ranks = comm;
    return QB_OK;
}
