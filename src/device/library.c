/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dlinfo */
#include "device/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/device.h"

/* Path of a library set by qb_library_path_set; in the order of qb_library. */
static struct {
    const char *override;
    char *path;  /* a file, a folder, or "" for none; NULL = not set */
    bool sought; /* the library was searched for already, and the path can no longer change */
} places[] = {{.override = "QB_LIBCUDA"},
              {.override = "QB_LIBNVRTC"},
              {.override = "QB_LIBCUFFT"},
              {.override = "QB_LIBOPENCL"},
              {.override = "QB_LIBNCCL"}};
enum { PLACES = sizeof places / sizeof *places };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

qb_status qb_library_path_set(qb_library library, const char *path) {
    char *copy = qb__strdup(path), *old = copy;
    qb_status status = QB_OK;
    if ((unsigned)library >= PLACES) {
        qb__free(copy);
        return qb__fail(QB_BAD_ARGUMENT, "there is no run-time library %d", (int)library);
    }
    if (path && !copy) return qb__fail(QB_NO_MEMORY, "no memory for the path %s", path);
    pthread_mutex_lock(&lock);
    if (places[library].sought) {
        status = qb__fail(QB_BAD_ARGUMENT,
                          "%s comes too late: what %s stands for was looked for already, once for "
                          "the whole process; set it before devices are used",
                          path ? path : "the default", places[library].override);
    } else {
        old = places[library].path;
        places[library].path = copy;
    }
    pthread_mutex_unlock(&lock);
    qb__free(old);
    return status;
}

/* The environment variable takes precedence over the path of the program. The path stays valid, because nothing changes
 * it afterwards. */
static const char *wish(const char *override) {
    const char *set = getenv(override);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES; i++) {
        if (strcmp(places[i].override, override) != 0) continue;
        places[i].sought = true;
        if (!set) set = places[i].path;
    }
    pthread_mutex_unlock(&lock);
    return set;
}

static void *open_in(const char *folder, const char *name) {
    char path[4096];
    const char *slash = strrchr(name, '/');
    int n = snprintf(path, sizeof path, "%s/%s", folder, slash ? slash + 1 : name);
    return n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_any(const char *folder, const char *const *names) {
    void *library = NULL;
    for (size_t i = 0; names[i] && !library; i++)
        library = folder ? open_in(folder, names[i]) : dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

void *qb__library_open(const char *override, const char *const *names, char *why, size_t why_size) {
    const char *only = wish(override);
    struct stat about;
    if (only && !*only) {
        snprintf(why, why_size, "left out by %s=\"\"", override);
        return NULL;
    }
    bool folder = only && stat(only, &about) == 0 && S_ISDIR(about.st_mode);
    if (only && !folder) {
        void *library = dlopen(only, RTLD_NOW | RTLD_LOCAL);
        const char *error = library ? NULL : dlerror();
        if (!library) snprintf(why, why_size, "%s: %s", override, error ? error : only);
        return library;
    }
    void *library = open_any(only, names);
    if (!library) snprintf(why, why_size, "%s is not there%s%s", names[0], only ? ", in " : "", only ? only : "");
    return library;
}

void qb__library_neighbour(void *library, const char *name) {
    char folder[4096];
    if (dlinfo(library, RTLD_DI_ORIGIN, folder) == 0) open_in(folder, name);
}

bool qb__library_symbols(void *library, const char *const *names, size_t count, void *table, const char **missing) {
    char *slots = table;
    for (size_t i = 0; i < count; i++) {
        bool optional = names[i][0] == '?';
        void *symbol = dlsym(library, names[i] + optional);
        if (!symbol && !optional) {
            *missing = names[i];
            return false;
        }
        /* Copies the bytes of a function pointer, because ISO C has no cast for it. */
        memcpy(slots + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return true;
}
