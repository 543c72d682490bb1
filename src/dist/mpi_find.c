/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dladdr */
/* Choice of the MPI library. A build with MPI has libquickbeam_mpi.so, which is linked with it. A build that must run
 * anywhere has one object for each of the two binary interfaces of MPI, that of Open MPI and that of MPICH (also
 * Intel's and most vendors'). These are not linked with MPI: the library is opened first by its name in the system, or
 * is in the process already. */
#include "dist/mpi_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char linked[] = "libquickbeam_mpi.so", of_openmpi[] = "libquickbeam_mpi_openmpi.so",
                  of_mpich[] = "libquickbeam_mpi_mpich.so";

/* Open MPI 2 to 5; MPICH, Intel MPI and MVAPICH; MPICH as Debian names it. */
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* The objects are in the folder of the library. */
static void path_of(const char *name, char path[PATH_MAX]) {
    Dl_info here;
    snprintf(path, PATH_MAX, "%s", name);
    if (dladdr(libraries, &here) && here.dli_fname && strrchr(here.dli_fname, '/'))
        snprintf(path, PATH_MAX, "%.*s/%s", (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname, name);
}

/* Global, because plug-ins of Open MPI look for its symbols there. It is never closed, because MPI cannot be
 * unloaded. */
static void *open_global(const char *path, int more) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL | more); }

static const char *nth_library(bool openmpi, int i) { return libraries[openmpi ? i : (i + 1) % LIBRARIES]; }

static const char *folder_of(const char *given) {
    struct stat about;
    return given && stat(given, &about) == 0 && S_ISDIR(about.st_mode) ? given : NULL;
}

static void *open_in(const char *folder, const char *name) {
    char path[PATH_MAX];
    return folder && snprintf(path, sizeof path, "%s/%s", folder, name) > 0 ? open_global(path, 0) : NULL;
}

/* The order: a library that is in the process already, as with mpi4py; the file that QB_LIBMPI names; the first library
 * in the folder of QB_LIBMPI and in the system that fits the launcher. */
static void *open_library(bool openmpi, char *why, size_t size) {
    const char *given = getenv("QB_LIBMPI"), *folder = folder_of(given);
    void *library = NULL;
    for (int i = 0; i < LIBRARIES && !library; i++) library = open_global(nth_library(openmpi, i), RTLD_NOLOAD);
    for (int i = 0; i < LIBRARIES && !library; i++) {
        const char *name = nth_library(openmpi, i);
        library = open_in(folder, name);
        if (!library && (!given || folder)) library = open_global(name, 0);
    }
    if (!library && given && !folder && *given) library = open_global(given, 0);
    if (library || !size) return library;
    if (given && !folder)
        snprintf(why, size, *given ? "QB_LIBMPI=%s does not open" : "left out by QB_LIBMPI=\"%s\"", given);
    else
        snprintf(why, size, "there is no %s, %s or %s: install Open MPI or MPICH, or name the file in QB_LIBMPI",
                 libraries[0], libraries[1], libraries[2]);
    return NULL;
}

/* "Open MPI v4.1.4" from the long version text, and the file's name. */
static void describe(void *library, char version[QB__MPI_VERSION]) {
    enum { LONGEST = 8192 }; /* length of MPICH's version text */
    int (*get)(char *, int *) = NULL;
    char text[LONGEST] = "";
    int length;
    Dl_info where = {0};
    void *symbol = library ? dlsym(library, "MPI_Get_library_version") : NULL;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from object to function pointer */
    if (get && get(text, &length) == 0) dladdr(symbol, &where);
    text[strcspn(text, ",\n")] = 0;
    size_t used = 0;
    for (size_t i = 0; text[i]; i++) { /* several blanks and tabs become one blank */
        const bool blank = text[i] == ' ' || text[i] == '\t';
        if (!blank || (used && text[used - 1] != ' ')) text[used++] = blank ? ' ' : text[i];
    }
    text[used] = 0;
    const char *file = where.dli_fname ? strrchr(where.dli_fname, '/') : NULL;
    snprintf(version, QB__MPI_VERSION, "%.200s (%.40s)", *text ? text : "unknown",
             file              ? file + 1
             : where.dli_fname ? where.dli_fname
                               : "?");
}

qb__mpi_open *qb__mpi_find(bool openmpi, char version[QB__MPI_VERSION], char *why, size_t size) {
    const char *given = getenv("QB_LIBQUICKBEAM_MPI");
    char path[PATH_MAX];
    qb__mpi_open *open = NULL;
    void *library = NULL;
    if (given)
        snprintf(path, sizeof path, "%s", given);
    else
        path_of(linked, path);
    if (!*path) return snprintf(why, size, "left out by QB_LIBQUICKBEAM_MPI=\"\""), NULL;
    const bool adapts = getenv("QB_LIBMPI") || (!given && access(path, F_OK) != 0);
    if (adapts && !given) {
        path_of(of_openmpi, path);
        if (access(path, F_OK) != 0)
            return snprintf(why, size, "there is no %s in the folder of the library", linked), NULL;
    }
    if (adapts && !(library = open_library(openmpi, why, size))) return NULL;
    if (adapts && !given) path_of(dlsym(library, "ompi_mpi_comm_world") ? of_openmpi : of_mpich, path);
    void *loaded = open_global(path, 0), *symbol = loaded ? dlsym(loaded, QB__MPI_OPEN) : NULL;
    if (!symbol) return snprintf(why, size, "%s", loaded ? path : dlerror()), NULL;
    if (version) describe(library ? library : loaded, version);
    memcpy(&open, &symbol, sizeof open);
    return open;
}

const char *qb__mpi_missing(bool openmpi) {
    const char *given = getenv("QB_LIBMPI"), *folder = folder_of(given);
    const int count = openmpi ? 1 : LIBRARIES - 1;
    char path[PATH_MAX];
    path_of(linked, path);
    if (getenv("QB_LIBQUICKBEAM_MPI") || (given ? !folder : access(path, F_OK) == 0)) return NULL;
    for (int i = 0; i < count; i++)
        if (open_in(folder, nth_library(openmpi, i)) || open_global(nth_library(openmpi, i), 0)) return NULL;
    return openmpi ? "Open MPI's libmpi.so.40" : "MPICH's libmpi.so.12 or libmpich.so.12";
}
