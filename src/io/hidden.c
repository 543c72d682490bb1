/* SPDX-License-Identifier: MIT */
#include "io/hidden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/aside.h"
#include "io/writer.h"

/* How much of a long name goes into that of the hidden folder: names end at 255 bytes. */
enum { NAME_MOST = 180, TRIES = 20 };
static const char mark[] = ".part-";

char *qb__join(const char *a, const char *b) {
    size_t room = strlen(a) + strlen(b) + 2;
    char *path;
    if (qb__alloc(room, 1, &path) != QB_OK) return NULL;
    snprintf(path, room, "%s/%s", a, b);
    return path;
}

/* PID-CLOCK in hexadecimal, as qb__part_tag makes it. */
bool qb__hidden_named(const char *name) {
    const char *tag = NULL;
    for (const char *at = name; (at = strstr(at, mark)); at++) tag = at + sizeof mark - 1;
    if (name[0] != '.' || !tag) return false;
    size_t n = strspn(tag, "0123456789");
    const char *clock = tag + n + 1;
    return n && tag[n] == '-' && *clock && strspn(clock, "0123456789abcdef") == strlen(clock);
}

static qb_status name_folder(qb__hidden *hidden) {
    const char *slash = strrchr(hidden->target, '/'), *name = slash ? slash + 1 : hidden->target;
    char tag[48], label[NAME_MOST + 80];
    bool members = hidden->kind == QB__HIDDEN_MEMBERS;
    qb__part_tag(tag, sizeof tag);
    snprintf(label, sizeof label, ".%.*s%s%s", NAME_MOST, members ? "quickbeam" : name, mark, tag);
    char *beside = members ? qb__strdup(hidden->target) : qb__folder_of(hidden->target);
    qb__free(hidden->folder);
    hidden->folder = beside ? qb__join(beside, label) : NULL;
    qb__free(beside);
    return hidden->folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", name);
}

static qb_status name_parts(qb__hidden *hidden) {
    hidden->fresh = qb__join(hidden->folder, "new");
    hidden->old = qb__join(hidden->folder, "old");
    if (hidden->fresh && hidden->old) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", hidden->target);
}

/* One who cleans up may find the folder before it is locked, and remove it; then there is no lock
 * file, or it has no name any more. */
static bool lock_is_ours(int lock) {
    struct stat about;
    return flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &about) == 0 && about.st_nlink > 0;
}

/* QB_OK with lock < 0: try again under another name. A file system without locks is used without. */
static qb_status make_locked(qb__hidden *hidden) {
    if (mkdir(hidden->folder, 0777) != 0)
        return errno == EEXIST ? QB_OK : qb__fail_errno(errno, "creating", hidden->target);
    char *name = qb__join(hidden->folder, "lock");
    if (!name) {
        rmdir(hidden->folder);
        return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", hidden->target);
    }
    qb_status status = QB_OK;
    int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666), error = errno;
    if (lock >= 0 && (lock_is_ours(lock) || errno == ENOLCK || errno == EOPNOTSUPP))
        hidden->lock = lock;
    else if (lock >= 0)
        close(lock);
    else if (error != ENOENT)
        status = qb__fail_errno(error, "creating", hidden->target);
    if (status != QB_OK) rmdir(hidden->folder);
    qb__free(name);
    return status;
}

qb_status qb__hidden_make(qb__hidden_kind kind, const char *target, qb__hidden *hidden) {
    *hidden = (qb__hidden){.kind = kind, .lock = -1, .target = qb__strdup(target)};
    if (!hidden->target) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && hidden->lock < 0 && i < TRIES; i++) {
        status = name_folder(hidden);
        if (status == QB_OK) status = make_locked(hidden);
    }
    if (status == QB_OK && hidden->lock < 0)
        status = qb__fail(QB_IO, "creating %s: no hidden folder can be made beside it", target);
    if (status == QB_OK && !qb__aside_add(hidden->folder))
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    if (status == QB_OK) status = name_parts(hidden);
    if (status == QB_OK && kind != QB__HIDDEN_FILE && mkdir(hidden->fresh, 0777) != 0)
        status = qb__fail_errno(errno, "creating", target);
    if (status != QB_OK && hidden->lock >= 0) qb__hidden_remove(hidden->folder);
    return status;
}

qb_status qb__hidden_names(const char *folder, const char *target, qb__hidden *hidden) {
    *hidden = (qb__hidden){.kind = hidden->kind,
                         .lock = -1,
                         .folder = qb__strdup(folder),
                         .target = qb__strdup(target)};
    if (hidden->folder && hidden->target) return name_parts(hidden);
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
}

void qb__hidden_release(qb__hidden *hidden) {
    if (hidden->lock >= 0) close(hidden->lock);
    qb__aside_drop(hidden->folder);
    qb__free(hidden->folder);
    qb__free(hidden->target);
    qb__free(hidden->fresh);
    qb__free(hidden->old);
    *hidden = (qb__hidden){.lock = -1};
}

int qb__hidden_claim(const char *folder) {
    char *name = qb__join(folder, "lock");
    int lock = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (name && lock < 0 && errno == ENOENT) rmdir(folder); /* died before it was locked */
    if (lock >= 0 && !lock_is_ours(lock)) {
        close(lock);
        lock = -1;
    }
    qb__free(name);
    return lock;
}

static void remove_files(int folder, const char *name) {
    int inside = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = inside < 0 ? NULL : fdopendir(inside);
    if (!list) {
        if (inside >= 0) close(inside);
        unlinkat(folder, name, 0);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(inside, entry->d_name, 0);
    closedir(list);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void qb__hidden_remove(const char *folder) {
    static const char *const parts[] = {"set", "new", "old", "first", "lock"};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) remove_files(fd, parts[i]);
    close(fd);
    rmdir(folder);
}
