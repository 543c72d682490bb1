/* SPDX-License-Identifier: MIT */
/* Was this process started by an MPI launcher? Then, and only then, MPI is looked for. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/mpi.h"

static const char library[] = "libquickbeam_mpi.so";

/* What launchers tell the processes that they start: those of Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; MVAPICH;
 * srun --mpi=pmix. A batch script of SLURM itself has none of them. */
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

/* It lies beside the library, or where QB_LIBQUICKBEAM_MPI says. Open MPI's own plug-ins look for its symbols among
 * those of all: hence global. It is never closed, MPI would not survive it. */
static qb__mpi_open *find(int count) {
    char path[PATH_MAX];
    const char *given = getenv("QB_LIBQUICKBEAM_MPI"), *why = NULL;
    Dl_info here;
    qb__mpi_open *open = NULL;
    snprintf(path, sizeof path, "%s", given ? given : library);
    if (!given && dladdr(launchers, &here) && here.dli_fname && strrchr(here.dli_fname, '/'))
        snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname,
                 library);
    void *loaded = *path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!loaded) why = *path ? dlerror() : "left out by QB_LIBQUICKBEAM_MPI=\"\"";
    void *symbol = loaded ? dlsym(loaded, QB__MPI_OPEN) : NULL;
    memcpy(&open, &symbol, sizeof open); /* ISO C has no cast for it */
    if (!open)
        qb__fail(QB_UNSUPPORTED,
                 "this is one of %d processes that an MPI launcher has started, and MPI cannot be had (%s): start it "
                 "once, or build quickbeam where MPI's headers are (libopenmpi-dev)",
                 count, why ? why : path);
    return open;
}

qb_status qb_ranks_open(qb_ranks **ranks) {
    int rank, count;
    QB__NEED(ranks);
    *ranks = NULL;
    if (!qb_ranks_launched(&rank, &count)) return QB_OK;
    qb__mpi_open *open = find(count);
    if (!open) return QB_UNSUPPORTED;
    qb__comm *comm;
    qb_status status = qb__alloc(1, sizeof *comm, &comm);
    if (status != QB_OK) return status;
    *comm = (qb__comm){.rank = rank, .count = count};
    if (!open(sizeof *comm, comm)) {
        status = qb__fail(QB_IO, "rank %d of %d cannot join the others: %s", rank, count, comm->trouble);
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
