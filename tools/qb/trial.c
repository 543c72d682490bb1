/* SPDX-License-Identifier: MIT */
/* The process in which the HDF5 library meets a file first. It may die here. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli.h"
#include "io/hdf5/hdf5_guard.h"

const char trial_word[] = "--try-hdf5";

/* Real files need some milliseconds and some megabytes. */
enum { SECONDS = 10, SECONDS_MORE = 50, MEBIBYTES = 2048, NO_MEMORY = 9 };

/* Was the limit higher? */
static bool limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0 || now.rlim_cur <= most) return false;
    now.rlim_cur = most;
    return setrlimit(resource, &now) == 0;
}

/* A link takes some hundred bytes in the file and 0.1 ms of going through. */
static rlim_t seconds_for(const char *path) {
    struct stat about;
    rlim_t more = stat(path, &about) == 0 ? (rlim_t)(about.st_size >> 22) : 0;
    return SECONDS + (more < SECONDS_MORE ? more : SECONDS_MORE);
}

int try_hdf5(const char *path, const char *dataset, bool serve) {
    if (!serve) prctl(PR_SET_PDEATHSIG, SIGKILL); /* who reads for others sees that they are gone */
    bool lowered = false;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, seconds_for(path));
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of addresses */
    lowered = limit(RLIMIT_AS, (rlim_t)MEBIBYTES << 20);
#endif
    if (serve) {
        qb_tool_hdf5_serve(path, dataset);
        return 0;
    }
    /* What the file asks for it asks for again; a shortage of the system's is for the parent to meet. */
    bool short_of_it =
        qb_tool_hdf5_try(path, dataset) == QB_NO_MEMORY && qb_tool_hdf5_try(path, dataset) == QB_NO_MEMORY;
    return short_of_it && lowered ? NO_MEMORY : 0;
}
