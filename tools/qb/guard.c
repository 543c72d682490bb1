/* SPDX-License-Identifier: MIT */
/* The process in which the HDF5 library or cfitsio opens a file for the first time. A damaged file may crash or block it without
 * harm to qb. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli.h"
#include "io/guard/guard.h"

const char guard_word[] = "--try-file";

/* Limits of processor time and memory. Real files need only some milliseconds and some megabytes. */
enum { SECONDS = 10, SECONDS_MORE = 50, MEBIBYTES = 2048 };

/* Lowers a limit of the process; false where the limit was as low before. */
static bool limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0 || now.rlim_cur <= most) return false;
    now.rlim_cur = most;
    return setrlimit(resource, &now) == 0;
}

/* Processor time allowed for a file. A link takes about a hundred bytes in the file and 0.1 ms to follow. */
static rlim_t seconds_for(const char *path) {
    struct stat about;
    rlim_t more = stat(path, &about) == 0 ? (rlim_t)(about.st_size >> 22) : 0;
    return SECONDS + (more < SECONDS_MORE ? more : SECONDS_MORE);
}

int try_file(const char *path, const char *dataset, bool serve) {
    /* Ends this process with its parent. A serving process notices by itself that its parent is gone */
    if (!serve) prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool lowered = false;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, seconds_for(path));
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reserves terabytes of addresses */
    lowered = limit(RLIMIT_AS, (rlim_t)MEBIBYTES << 20);
#endif
    if (serve) {
        qb_tool_guard_serve(path, dataset);
        return 0;
    }
    /* Tries twice: a file that asks for too much memory does so each time. A shortage of the system passes, and the
     * parent handles it. */
    bool short_of_it =
        qb_tool_guard_try(path, dataset) == QB_NO_MEMORY && qb_tool_guard_try(path, dataset) == QB_NO_MEMORY;
    return short_of_it && lowered ? QB__GUARD_NO_MEMORY : 0;
}
