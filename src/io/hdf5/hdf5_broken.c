/* SPDX-License-Identifier: MIT */
/* Datasets that the HDF5 library cannot open. On its way to an error it may read outside its memory (seen with a
 * malformed list of a virtual dataset), so that a crash depends on chance. Therefore the process that tries a file
 * first reports the datasets that failed, and this process does not open them. */
#include "io/hdf5/hdf5_broken.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { NAME = 2048, LIST_MOST = 1 << 20 };

/* "FILE
 * DATASET
 * " entries; shared by the process, as HDF5's own state. */
static struct {
    pthread_mutex_t lock;
    bool telling;
    char *list;
    size_t bytes;
} broken = {.lock = PTHREAD_MUTEX_INITIALIZER};

void qb__h5_tell_broken(void) { broken.telling = true; }

/* False if a name is too long or contains a line break: such a dataset is opened as usual. */
static bool name_of(hid_t place, const char *path, char *text, size_t size) {
    char file[NAME], group[NAME] = "";
    if (H5Fget_name(place, file, sizeof file) < 0) return false;
    if (*path != '/' && H5Iget_name(place, group, sizeof group) < 0) return false;
    if (strchr(file, '\n') || strchr(group, '\n') || strchr(path, '\n')) return false;
    const bool root = strcmp(group, "/") == 0;
    const int n = snprintf(text, size, "%s\n%s%s%s\n", file, root ? "" : group, *path == '/' ? "" : "/", path);
    return n > 0 && (size_t)n < size;
}

static bool is_known(const char *name) {
    pthread_mutex_lock(&broken.lock);
    const char *at = broken.list ? strstr(broken.list, name) : NULL;
    while (at && at > broken.list && at[-1] != '\n') at = strstr(at + 1, name);
    const bool known = at != NULL;
    pthread_mutex_unlock(&broken.lock);
    return known;
}

hid_t qb__h5_dataset(hid_t place, const char *path) {
    char name[3 * NAME];
    H5O_info_t object;
    const bool named = name_of(place, path, name, sizeof name);
    if (named && is_known(name)) return H5I_INVALID_HID;
    const hid_t set = H5Dopen2(place, path, H5P_DEFAULT);
    if (set >= 0 || !named || !broken.telling) return set;
    if (H5Oget_info_by_name2(place, path, &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && object.type == H5O_TYPE_DATASET)
        dprintf(STDOUT_FILENO, "%s", name);
    return set;
}

void qb__h5_note_broken(const char *list, size_t bytes) {
    char *longer;
    pthread_mutex_lock(&broken.lock);
    if (bytes > 0 && broken.bytes + bytes < LIST_MOST && qb__alloc(1, broken.bytes + bytes + 1, &longer) == QB_OK) {
        if (broken.list) memcpy(longer, broken.list, broken.bytes);
        memcpy(longer + broken.bytes, list, bytes);
        qb__free(broken.list);
        broken.list = longer;
        broken.bytes += bytes;
    }
    pthread_mutex_unlock(&broken.lock);
}

void qb__h5_forget_broken(const char *path) {
    char first[NAME + 1];
    const int n = snprintf(first, sizeof first, "%s\n", path);
    if (n < 0 || (size_t)n >= sizeof first) return;
    pthread_mutex_lock(&broken.lock);
    for (char *at = broken.list; at && (at = strstr(at, first));) {
        char *end = strchr(at + n, '\n');
        if (!end) break;
        memmove(at, end + 1, strlen(end + 1) + 1);
        broken.bytes = strlen(broken.list);
    }
    pthread_mutex_unlock(&broken.lock);
}
