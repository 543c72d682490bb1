/* SPDX-License-Identifier: MIT */
/* The target of an output's name, and whether a file can be created there. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"

enum { MOST_LINKS = 40 };

/* The text `link` of the symbolic link `path`, relative to the working folder. */
static char *seen_from_here(const char *path, const char *link) {
    const char *slash = link[0] == '/' ? NULL : strrchr(path, '/');
    size_t n = slash ? (size_t)(slash + 1 - path) : 0, room = n + strlen(link) + 1;
    char *name;
    if (qb__alloc(room, 1, &name) != QB_OK) return NULL;
    snprintf(name, room, "%.*s%s", (int)n, path, link);
    return name;
}

qb_status qb__target_of(const char *path, char **target) {
    char link[PATH_MAX];
    *target = qb__strdup(path);
    for (int i = 0; *target && i < MOST_LINKS; i++) {
        ssize_t n = readlink(*target, link, sizeof link - 1);
        if (n < 0) return QB_OK; /* not a link, or nothing */
        link[n] = 0;
        char *next = seen_from_here(*target, link);
        qb__free(*target);
        *target = next;
    }
    if (!*target) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    qb__free(*target);
    *target = NULL;
    return qb__fail_errno(ELOOP, "following the link", path);
}

static bool same_inode(const char *a, const char *b, bool *both) {
    struct stat x, y;
    bool have_a = stat(a, &x) == 0, have_b = stat(b, &y) == 0;
    *both = have_a && have_b;
    return *both && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* For two names without files: equal if they have the same last part in the same folder. */
static qb_status same_name(const char *a, const char *b, bool *same) {
    bool both;
    char *x = qb__folder_of(a), *y = qb__folder_of(b);
    *same = x && y && strcmp(qb__last_part(a), qb__last_part(b)) == 0 && (strcmp(x, y) == 0 || same_inode(x, y, &both));
    qb_status status = x && y ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", a);
    QB__FREE(x, y);
    return status;
}

qb_status qb__same_file(const char *a, const char *b, bool *same) {
    char *x = NULL, *y = NULL;
    bool both = false;
    *same = strcmp(a, b) == 0 || same_inode(a, b, &both);
    if (*same || both) return QB_OK;
    qb_status status = qb__target_of(a, &x);
    if (status == QB_OK) status = qb__target_of(b, &y);
    if (status == QB_OK) status = same_name(x, y, same);
    QB__FREE(x, y);
    return status;
}

static const char *kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return S_ISDIR(mode) ? "a folder" : NULL;
}

qb_status qb__target_check(const char *path) {
    struct stat what;
    const bool there = stat(path, &what) == 0;
    if (!there && errno == ENAMETOOLONG)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%.60s... cannot be written: a name of %zu bytes is too long here; give a shorter one", path,
                        strlen(path));
    if (!there || S_ISREG(what.st_mode)) return QB_OK;
    const char *kind = kind_of(what.st_mode);
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s is %s, and the finished output can only take the place of a file: give another name", path,
                    kind ? kind : "no regular file");
}

qb_status qb__member_check(const char *path) {
    struct stat what;
    if (lstat(path, &what) != 0 || S_ISREG(what.st_mode)) return QB_OK;
    const char *kind = S_ISLNK(what.st_mode) ? "a link" : kind_of(what.st_mode);
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s is %s: images of a series take the place of files alone; remove it, or give another name", path,
                    kind ? kind : "no regular file");
}

qb_status qb__parts_folder(const char *path, char **folder) {
    char *target = NULL;
    *folder = NULL;
    qb_status status = qb__target_of(path, &target);
    size_t room = target ? strlen(target) + sizeof ".parts" : 0;
    if (status == QB_OK) status = qb__alloc(room, 1, folder);
    if (status == QB_OK) snprintf(*folder, room, "%s.parts", target);
    qb__free(target);
    return status;
}

static bool device_of(const char *path, dev_t *device) {
    struct stat about;
    char *above = NULL;
    int failed = stat(path, &about);
    if (failed && errno == ENOENT && (above = qb__folder_of(path))) failed = stat(above, &about);
    qb__free(above);
    *device = about.st_dev;
    return !failed;
}

bool qb__parts_near(const char *path) {
    char *folder = NULL, *target = NULL, *file = NULL, *parent = NULL;
    dev_t a, b;
    qb_status status = qb__parts_folder(path, &folder);
    if (status == QB_OK) status = qb__target_of(folder, &target);
    if (status == QB_OK) status = qb__target_of(path, &file);
    if (status == QB_OK) parent = qb__folder_of(file);
    const bool near = parent && device_of(target, &a) && device_of(parent, &b) && a == b;
    QB__FREE(folder, target, file, parent);
    return near;
}

qb_status qb__part_name(const char *path, size_t part, char *name, size_t room) {
    char *folder;
    qb_status status = qb__parts_folder(path, &folder);
    if (status != QB_OK) return status;
    if ((size_t)snprintf(name, room, "%s/%02zu.h5", folder, part) >= room)
        status = qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", path);
    qb__free(folder);
    return status;
}
