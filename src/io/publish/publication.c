/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* syncfs */
#include "io/publish/publication.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/publish/staging.h"
#include "io/publish/swap.h"
#include "io/publish/paths.h"
#include "quickbeam/io.h"

struct qb__publication {
    const qb_env *env;
    bool resume_from, taken; /* the first file is to be taken from an earlier run; it was */
    qb_status (*look)(void *self, const char *folder);
    void *self;
    bool published; /* nothing is left to resume */
    size_t count;
    qb__member member[QB__FILE_SET_MOST];
};

qb_status qb__publication_create(const qb_env *env, qb__publication **out) {
    qb__publication *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    *out = NULL;
    if (status != QB_OK) return status;
    p->env = env;
    *out = p;
    return QB_OK;
}

/* The staging folders of the other outputs refer to the first one, so that a set can be found from any of them. */
static qb_status link_to_first(const qb__publication *p, const qb__staging *staging) {
    char whole[PATH_MAX];
    char *name = qb__join(staging->folder, "first");
    qb_status status = QB_OK;
    if (!name)
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging->target);
    else if (!realpath(p->member[0].staging.folder, whole) || symlink(whole, name) != 0)
        status = qb__fail_errno(errno, "creating", staging->target);
    qb__free(name);
    return status;
}

/* An existing folder may have been made by a run that left something next to it. */
static qb_status recover_around(const qb__publication *p, qb__staging_kind kind, const char *target,
                                const char *label) {
    char *folder = qb__folder_of(target), *prefix = NULL;
    qb_status status = folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    if (status == QB_OK) status = qb__staging_prefix(QB__STAGING_FILE, target, NULL, &prefix);
    if (status == QB_OK) qb__recover_for(folder, prefix, false, p->count == 0, p->env);
    qb__free(prefix);
    prefix = NULL;
    if (status == QB_OK && kind == QB__STAGING_MEMBERS) status = qb__staging_prefix(kind, target, label, &prefix);
    if (prefix) qb__recover_for(target, prefix, false, p->count == 0, p->env);
    QB__FREE(prefix, folder);
    return status;
}

/* Finish or undo a half exchanged set first, as a whole, and remove what belonged to it while nobody has a lock on
 * it. */
static qb_status resume_from(qb__publication *p, qb__staging_kind kind, const char *target, const char *label,
                             qb__staging *staging) {
    char *folder = kind == QB__STAGING_MEMBERS ? qb__strdup(target) : qb__folder_of(target), *prefix = NULL;
    qb_status status = folder ? qb__staging_prefix(kind, target, label, &prefix)
                              : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    if (status == QB_OK) qb__recover_for(folder, prefix, true, false, p->env);
    QB__FREE(prefix, folder);
    if (status == QB_OK) status = qb__staging_resume(kind, target, label, staging);
    p->taken = status == QB_OK && staging->lock >= 0;
    if (status == QB_OK && !p->taken) qb__staging_release(staging);
    if (p->taken) status = p->look(p->self, staging->folder);
    return status;
}

void qb__publication_resume(qb__publication *p, qb_status (*look)(void *self, const char *folder), void *self) {
    p->resume_from = true;
    p->look = look;
    p->self = self;
}

const qb_env *qb__publication_env(const qb__publication *p) { return p ? p->env : NULL; }
bool qb__publication_takes_up(const qb__publication *p) { return p && p->resume_from; }
bool qb__publication_taken_up(const qb__publication *p) { return p && p->taken; }

static qb_status add(qb__publication *p, qb__staging_kind kind, const char *target, const char *label,
                     const char **fresh) {
    if (p->count == QB__FILE_SET_MOST)
        return qb__fail(QB_INTERNAL, "%s: more than %d outputs", target, QB__FILE_SET_MOST);
    qb__staging *staging = &p->member[p->count].staging;
    const bool first = p->resume_from && p->count == 0;
    *staging = (qb__staging){.lock = -1};
    qb_status status = first ? resume_from(p, kind, target, label, staging) : QB_OK;
    if (status == QB_OK) status = recover_around(p, kind, target, label);
    if (status == QB_OK && !(first && p->taken)) status = qb__staging_make(kind, target, label, staging);
    if (status == QB_OK && p->count > 0) {
        status = link_to_first(p, staging);
        if (status != QB_OK) qb__staging_remove(staging->folder);
    }
    if (status == QB_OK) {
        p->count++;
        *fresh = staging->fresh;
    } else {
        qb__staging_release(staging);
    }
    return status;
}

qb_status qb__publication_file(qb__publication *p, const char *path, const char **fresh) {
    char *target = NULL;
    qb_status status = qb__target_check(path);
    if (status == QB_OK) status = qb__target_of(path, &target);
    if (status == QB_OK) status = add(p, QB__STAGING_FILE, target, NULL, fresh);
    qb__free(target);
    return status;
}

/* NAME/ is NAME, and a link to a missing folder stands for the folder that will be created. */
static qb_status add_folder(qb__publication *p, const char *folder, bool whole, const char *label, const char **fresh) {
    char *name = qb__strdup(folder), *target = NULL;
    if (!name) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", folder);
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/';) name[--n] = 0;
    struct stat about;
    qb_status status = QB_OK;
    bool there = stat(name, &about) == 0;
    if (there && !S_ISDIR(about.st_mode)) status = qb__fail(QB_BAD_ARGUMENT, "%s exists and is not a folder", name);
    if (status == QB_OK) status = qb__target_of(name, &target);
    const qb__staging_kind kind = whole ? QB__STAGING_STORE : there ? QB__STAGING_MEMBERS : QB__STAGING_FOLDER;
    if (status == QB_OK) status = add(p, kind, target, label, fresh);
    QB__FREE(target, name);
    return status;
}

qb_status qb__publication_folder(qb__publication *p, const char *folder, const char *label, const char **fresh) {
    return add_folder(p, folder, false, label, fresh);
}

qb_status qb__publication_store(qb__publication *p, const char *path, const char **fresh) {
    return add_folder(p, path, true, NULL, fresh);
}

static void destroy(qb__publication *p) {
    for (size_t i = p->count; i-- > 0;) qb__member_release(&p->member[i]);
    qb__free(p);
}

/* Nobody must finish the exchange of a set that was given up. */
static bool keep(const qb__publication *p) {
    const char *folder = p->member[0].staging.folder;
    if (!qb__staging_kept(folder)) return false;
    char *name = qb__join(folder, "set");
    if (name) unlink(name);
    qb__free(name);
    qb__info(p->env, "%s keeps the finished part: the same command with --resume goes on from there", folder);
    return true;
}

/* The first hidden folder is removed last, because it lists the others. */
void qb__publication_abort(qb__publication *p) {
    if (!p) return;
    for (size_t i = p->count; i-- > 0;)
        if (i > 0 || p->published || !keep(p)) qb__staging_remove(p->member[i].staging.folder);
    destroy(p);
}

static qb_status flush_folder(const qb__staging *staging) {
    int fd = open(staging->fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && syncfs(fd) == 0) {
        close(fd);
        return QB_OK;
    }
    int error = errno;
    if (fd >= 0) close(fd);
    return qb__fail_errno(error, "writing into", staging->target);
}

/* Two runs that exchange the same names take turns. If a folder cannot be locked, they do not. */
static int take_turn(const qb__staging *staging) {
    char *folder = qb__folder_of(staging->folder);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    qb__free(folder);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    return fd;
}

/* The data for the exchange must be on the disk before it begins: the new files, and the file `set`. */
static qb_status flush_staging(const qb__publication *p) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < p->count; i++)
        status = qb__flush_names(p->member[i].staging.folder, p->member[i].staging.target);
    return status;
}

/* Move all older files away, the first output before the others; then move the new ones in, the first output last. A
 * failure is undone. */
static qb_status exchange(qb__publication *p) {
    size_t i;
    qb_status status = QB_OK;
    for (i = 0; status == QB_OK && i < p->count; i++) status = qb__member_retire(&p->member[i]);
    for (i = p->count; status == QB_OK && i-- > 0;) status = qb__member_install(&p->member[i]);
    for (i = 0; status == QB_OK && i < p->count; i++) status = qb__member_flush(&p->member[i]);
    if (status == QB_OK) return QB_OK;
    for (i = 0; i < p->count; i++)
        if (qb__member_begun(&p->member[i])) qb__member_withdraw(&p->member[i]);
    for (i = p->count; i-- > 0;) qb__member_restore(&p->member[i]);
    return status;
}

static qb_status publish_set(qb__publication *p) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < p->count; i++) status = qb__member_list(&p->member[i]);
    if (status == QB_OK) status = qb__file_set_write(p->member, p->count);
    if (status == QB_OK) status = flush_staging(p);
    if (status != QB_OK) return status;
    int turn = take_turn(&p->member[0].staging);
    status = exchange(p);
    if (turn >= 0) close(turn);
    return status;
}

/* A hard link keeps the older file until the new one's name is on the disk. If a link is impossible (file system, or
 * somebody else's file), the new file keeps its name even if the disk then fails. */
static qb_status publish_one(const qb__member *member) {
    const qb__staging *staging = &member->staging;
    const bool kept = link(staging->target, staging->old) == 0, none = !kept && errno == ENOENT;
    if (rename(staging->fresh, staging->target) != 0)
        return qb__fail_errno(errno, "giving its name to", staging->target);
    qb_status status = qb__member_flush(member);
    if (status != QB_OK && none) rename(staging->target, staging->fresh);
    if (status != QB_OK && kept) rename(staging->old, staging->target);
    return status;
}

/* Files that the caller writes in addition to the outputs. */
static qb_status add_sidecars(qb__publication *p) {
    const char *fresh;
    for (const qb_sidecar *file = p->env ? p->env->writes : NULL; file && file->path; file++) {
        if (!file->text) continue;
        QB__OR_RETURN(qb__publication_file(p, file->path, &fresh));
        QB__OR_RETURN(qb__write_fresh(fresh, file->path, file->text, strlen(file->text)));
    }
    return QB_OK;
}

/* A thread that ends the process meanwhile waits until all have their names (staging_list.c). */
static qb_status publish(qb__publication *p) {
    const qb__staging *first = &p->member[0].staging;
    struct stat about;
    bool one = p->count == 1 && first->kind != QB__STAGING_MEMBERS;
    /* A folder cannot replace another one in one step. */
    if (one && first->kind == QB__STAGING_STORE && lstat(first->target, &about) == 0) one = false;
    return one ? publish_one(&p->member[0]) : publish_set(p);
}

qb_status qb__publication_commit(qb__publication *p) {
    qb_status status = add_sidecars(p);
    for (size_t i = 0; status == QB_OK && i < p->count; i++)
        if (p->member[i].staging.kind != QB__STAGING_FILE) status = flush_folder(&p->member[i].staging);
    bool begun = status == QB_OK && p->count && (status = qb__staging_list_publish()) == QB_OK;
    if (begun) status = publish(p);
    p->published = begun && status == QB_OK;
    qb__publication_abort(p); /* removes what is left */
    if (begun) qb__staging_list_published();
    return status;
}

qb_status qb__publish_bytes(const char *path, const void *data, size_t bytes) {
    qb__publication *p;
    const char *fresh;
    QB__OR_RETURN(qb__publication_create(NULL, &p));
    qb_status status = qb__publication_file(p, path, &fresh);
    if (status == QB_OK) status = qb__write_fresh(fresh, path, data, bytes);
    if (status == QB_OK) return qb__publication_commit(p);
    qb__publication_abort(p);
    return status;
}

qb_status qb_file_write(const char *path, const char *text) {
    QB__NEED(path);
    QB__NEED(text);
    qb_status status = qb__publish_bytes(path, text, strlen(text));
    return status == QB_NOT_FOUND ? QB_IO : status;
}
