/* SPDX-License-Identifier: MIT */
#include "io/publish/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "quickbeam/env.h"

/* Part of a long name that is used for the hidden folder: names are limited to 255 bytes. */
enum { NAME_MOST = 180, TRIES = 20 };
static const char mark[] = ".part-";

/* PID-CLOCK in hexadecimal, from qb__part_tag. */
static bool is_tag(const char *tag) {
    size_t n = strspn(tag, "0123456789");
    const char *clock = tag + n + 1;
    return n && tag[n] == '-' && *clock && strspn(clock, "0123456789abcdef") == strlen(clock);
}

bool qb__staging_named(const char *name) {
    const char *tag = NULL;
    for (const char *at = name; (at = strstr(at, mark)); at++) tag = at + sizeof mark - 1;
    return name[0] == '.' && tag && is_tag(tag);
}

bool qb__staging_for(const char *name, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && is_tag(name + n);
}

qb_status qb__staging_prefix(qb__staging_kind kind, const char *target, const char *label, char **prefix) {
    const char *name = qb__last_part(target);
    char text[NAME_MOST + 80];
    snprintf(text, sizeof text, ".%.*s%s", NAME_MOST,
             kind != QB__STAGING_MEMBERS ? name
             : label                     ? label
                                         : "quickbeam",
             mark);
    *prefix = qb__strdup(text);
    return *prefix ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", name);
}

/* The folder in which hidden folders of that kind lie. */
static char *parent_folder(qb__staging_kind kind, const char *target) {
    return kind == QB__STAGING_MEMBERS ? qb__strdup(target) : qb__folder_of(target);
}

static qb_status name_folder(qb__staging *staging, const char *label) {
    char tag[48], name[NAME_MOST + 128], *prefix;
    QB__OR_RETURN(qb__staging_prefix(staging->kind, staging->target, label, &prefix));
    qb__part_tag(tag, sizeof tag);
    snprintf(name, sizeof name, "%s%s", prefix, tag);
    char *parent = parent_folder(staging->kind, staging->target);
    qb__free(staging->folder);
    staging->folder = parent ? qb__join(parent, name) : NULL;
    QB__FREE(parent, prefix);
    return staging->folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging->target);
}

static qb_status name_parts(qb__staging *staging) {
    staging->fresh = qb__join(staging->folder, "new");
    staging->old = qb__join(staging->folder, "old");
    if (staging->fresh && staging->old) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging->target);
}

/* A clean-up may find and remove the folder before it is locked; then the lock file is missing, or has no name any
 * more. */
static bool lock_is_ours(int lock) {
    struct stat about;
    return flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &about) == 0 && about.st_nlink > 0;
}

/* QB_OK with lock < 0: try again with another name. On a file system without locks no lock is used. */
static qb_status make_locked(qb__staging *staging) {
    if (mkdir(staging->folder, 0777) != 0)
        return errno == EEXIST ? QB_OK : qb__fail_errno(errno, "creating", staging->target);
    char *name = qb__join(staging->folder, "lock");
    if (!name) {
        rmdir(staging->folder);
        return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging->target);
    }
    qb_status status = QB_OK;
    int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666), error = errno;
    if (lock >= 0 && (lock_is_ours(lock) || errno == ENOLCK || errno == EOPNOTSUPP))
        staging->lock = lock;
    else if (lock >= 0)
        close(lock);
    else if (error != ENOENT)
        status = qb__fail_errno(error, "creating", staging->target);
    if (status != QB_OK) rmdir(staging->folder);
    qb__free(name);
    return status;
}

qb_status qb__staging_make(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging) {
    *staging = (qb__staging){.kind = kind, .lock = -1, .target = qb__strdup(target)};
    if (!staging->target) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && staging->lock < 0 && i < TRIES; i++) {
        status = name_folder(staging, label);
        if (status == QB_OK) status = make_locked(staging);
    }
    if (status == QB_OK && staging->lock < 0)
        status = qb__fail(QB_IO, "creating %s: no hidden folder can be made next to it", target);
    if (status == QB_OK && !qb__staging_list_add(staging->folder))
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    if (status == QB_OK) status = name_parts(staging);
    if (status == QB_OK && kind != QB__STAGING_FILE && mkdir(staging->fresh, 0777) != 0)
        status = qb__fail_errno(errno, "creating", target);
    if (status != QB_OK && staging->lock >= 0) qb__staging_remove(staging->folder);
    return status;
}

qb_status qb__staging_names(const char *folder, const char *target, qb__staging *staging) {
    *staging =
        (qb__staging){.kind = staging->kind, .lock = -1, .folder = qb__strdup(folder), .target = qb__strdup(target)};
    if (staging->folder && staging->target) return name_parts(staging);
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
}

void qb__staging_release(qb__staging *staging) {
    if (staging->lock >= 0) close(staging->lock);
    qb__staging_list_drop(staging->folder);
    QB__FREE(staging->folder, staging->target, staging->fresh, staging->old);
    *staging = (qb__staging){.lock = -1};
}

int qb__staging_claim(const char *folder) {
    char *name = qb__join(folder, "lock");
    int lock = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (name && lock < 0 && errno == ENOENT) rmdir(folder); /* the process died before it locked the folder */
    if (lock >= 0 && !lock_is_ours(lock)) {
        close(lock);
        lock = -1;
    }
    qb__free(name);
    return lock;
}

/* ---- finished parts of an earlier run ---- */

static bool has(const char *folder, const char *name, struct stat *about) {
    char *path = qb__join(folder, name);
    const bool there = path && lstat(path, about) == 0;
    qb__free(path);
    return there;
}

bool qb__staging_kept(const char *folder) {
    struct stat about;
    return has(folder, "done", &about) && has(folder, "new", &about);
}

/* Take over one hidden folder. QB_OK without a lock: it is not the right one. */
static qb_status resume_from(const char *folder, qb__staging *staging) {
    struct stat about;
    if (!qb__staging_kept(folder) || !has(folder, "new", &about)) return QB_OK;
    if (S_ISDIR(about.st_mode) != (staging->kind != QB__STAGING_FILE)) return QB_OK;
    const int lock = qb__staging_claim(folder);
    if (lock < 0 && access(folder, F_OK) != 0) return QB_OK; /* removed meanwhile */
    if (lock < 0)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s cannot be locked: another run that writes %s is at work; wait for it, or give another -o",
                        folder, staging->target);
    staging->lock = lock;
    staging->folder = qb__strdup(folder);
    if (!staging->folder || !qb__staging_list_add(folder))
        return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging->target);
    return name_parts(staging);
}

qb_status qb__staging_resume(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging) {
    *staging = (qb__staging){.kind = kind, .lock = -1, .target = qb__strdup(target)};
    char *parent = parent_folder(kind, target), *prefix = NULL;
    qb_status status = staging->target && parent ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    if (status == QB_OK) status = qb__staging_prefix(kind, target, label, &prefix);
    DIR *list = status == QB_OK ? opendir(parent) : NULL;
    for (struct dirent *entry; status == QB_OK && staging->lock < 0 && list && (entry = readdir(list));) {
        if (!qb__staging_for(entry->d_name, prefix)) continue;
        char *folder = qb__join(parent, entry->d_name);
        status = folder ? resume_from(folder, staging) : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
        qb__free(folder);
    }
    if (list) closedir(list);
    QB__FREE(prefix, parent);
    return status;
}

/* Longest text of the lock file. */
enum { JOB_MOST = 80, TURNS = 100 };

static bool is_of(int lock, const char *job) {
    char then[JOB_MOST];
    const ssize_t n = pread(lock, then, sizeof then, 0);
    return n >= 0 && (size_t)n == strlen(job) && memcmp(then, job, (size_t)n) == 0;
}

/* The process with the exclusive lock writes the job's name; then all processes of that job share the lock. Changing
 * from one lock to the other releases it for a moment. Another process that then gets the exclusive lock finds its own
 * job there, or writes another job's name. */
static bool share(int lock, const char *job, bool *first) {
    const size_t bytes = strlen(job);
    if (lock_is_ours(lock) && !is_of(lock, job)) {
        if (ftruncate(lock, 0) != 0 || pwrite(lock, job, bytes, 0) != (ssize_t)bytes) return false;
        *first = true;
    }
    struct stat about;
    return flock(lock, LOCK_SH | LOCK_NB) == 0 && is_of(lock, job) && fstat(lock, &about) == 0 && about.st_nlink > 0;
}

/* Another process of the job holds the exclusive lock only for a moment. */
int qb__staging_share(const char *folder, const char *job, bool *first) {
    const struct timespec moment = {.tv_nsec = 10000000};
    char *name = qb__join(folder, "lock");
    int lock = -1;
    bool ours = false;
    *first = false;
    for (int i = 0; name && !ours && i < TURNS; i++) {
        if (i > 0) nanosleep(&moment, NULL);
        lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        ours = lock >= 0 && share(lock, job, first);
        if (!ours && lock >= 0) close(lock);
    }
    qb__free(name);
    return ours ? lock : -1;
}

static void remove_parts(int folder, const char *name);

static void remove_files(int folder, const char *name) {
    int inside = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = inside < 0 ? NULL : fdopendir(inside);
    if (!list) {
        if (inside >= 0) close(inside);
        unlinkat(folder, name, 0);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (qb__staging_named(entry->d_name)) /* hidden folders of members of this folder */
            remove_parts(inside, entry->d_name);
        else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_files(inside, entry->d_name);
    closedir(list);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static void remove_parts(int folder, const char *name) {
    static const char *const parts[] = {"set", "done", "new", "new.gz", "parts", "packed", "old", "first", "lock"};
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) remove_files(fd, parts[i]);
    close(fd);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void qb__staging_remove(const char *folder) { remove_parts(AT_FDCWD, folder); }

void qb__staging_forget(const char *fresh) {
    char *folder = qb__folder_of(fresh);
    const int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) remove_files(fd, "done");
    if (fd >= 0) close(fd);
    qb__free(folder);
}

static void abandon(const char *folder) {
    if (!qb__staging_kept(folder)) qb__staging_remove(folder);
}

void qb_abandon(void) { qb__staging_list_abandon(abandon); }
