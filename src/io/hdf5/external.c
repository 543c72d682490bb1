/* SPDX-License-Identifier: MIT */
#include "io/hdf5/external.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "quickbeam/io.h"

static _Thread_local bool allowed;

bool qb_external_allow(bool allow) {
    bool before = allowed;
    allowed = allow;
    return before;
}

/* The folder of a path with all links resolved; release with free; NULL with errno. */
static char *real_folder(const char *path) {
    char *folder = qb__folder_of(path);
    if (!folder) {
        errno = ENOMEM;
        return NULL;
    }
    char *real = realpath(folder, NULL);
    qb__free(folder);
    return real;
}

static bool lies_in(const char *folder, const char *outer) {
    size_t n = strlen(outer);
    return strncmp(folder, outer, n) == 0 && (folder[n] == '/' || folder[n] == 0 || (n && outer[n - 1] == '/'));
}

qb_status qb__external_check(const char *header, const char *file) {
    if (allowed) return QB_OK;
    char *own = real_folder(header), *its = own ? real_folder(file) : NULL;
    qb_status status = QB_OK;
    if (!own || !its)
        status = qb__fail_errno(errno, "opening the folder of", own ? file : header);
    else if (!lies_in(its, own))
        status = qb__fail(QB_BAD_INPUT,
                          "%s takes its data from %s, outside its own folder: with a file from a stranger that may be "
                          "any file of yours; --allow-external reads it all the same",
                          header, file);
    free(own);
    free(its);
    return status;
}

static bool try_name(char path[QB__EXTERNAL_NAME], const char *folder, const char *name) {
    const int n = folder ? snprintf(path, QB__EXTERNAL_NAME, "%s/%s", folder, name)
                         : snprintf(path, QB__EXTERNAL_NAME, "%s", name);
    return n > 0 && n < QB__EXTERNAL_NAME && access(path, F_OK) == 0;
}

bool qb__external_find(const char *file, const char *name, const char *prefix, char path[QB__EXTERNAL_NAME]) {
    char *target = NULL, *folder = NULL;
    const char *first = getenv(prefix), *slash = strrchr(name, '/');
    bool found = *name == '/' && try_name(path, NULL, name);
    if (*name == '/') name = slash + 1; /* it may have been moved together with the file */
    if (!found && first && *first) found = try_name(path, first, name);
    if (!found && qb__target_of(file, &target) == QB_OK && (folder = qb__folder_of(target)) != NULL)
        found = try_name(path, folder, name);
    if (!found) found = try_name(path, NULL, name);
    QB__FREE(folder, target);
    return found;
}
