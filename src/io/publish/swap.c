/* SPDX-License-Identifier: MIT */
#include "io/publish/swap.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"

static bool is_there(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}

static qb_status list_files(const char *path, qb__notes *names) {
    DIR *folder = opendir(path);
    if (!folder) return qb__fail_errno(errno, "opening the folder", path);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) qb__note(names, "%s", entry->d_name);
    closedir(folder);
    return names->lost ? qb__fail(QB_NO_MEMORY, "%s: no memory for the names in it", path) : QB_OK;
}

qb_status qb__member_list(qb__member *member) {
    if (member->staging.kind != QB__STAGING_MEMBERS) return QB_OK;
    qb_status status = list_files(member->staging.fresh, &member->names);
    member->count = member->names.count;
    return status;
}

void qb__member_release(qb__member *member) {
    qb__notes_release(&member->names);
    qb__staging_release(&member->staging);
}

static qb_status rename_to(const char *from, const char *to, const char *name) {
    if (rename(from, to) == 0) return QB_OK;
    return qb__fail_errno(errno, "giving its name to", name);
}

/* Move FROM/NAME to TO/NAME. Names missing in FROM are skipped, and with `spare` also those that exist in TO. */
static qb_status move(const char *from, const char *to, const char *name, bool spare) {
    char *a = qb__join(from, name), *b = qb__join(to, name);
    qb_status status = QB_OK;
    if (!a || !b)
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", name);
    else if (is_there(a) && !(spare && is_there(b)))
        status = rename_to(a, b, b);
    QB__FREE(a, b);
    return status;
}

static qb_status move_all(const qb__notes *names, const char *from, const char *to) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < names->count; i++) status = move(from, to, names->text[i], false);
    return status;
}

/* Move as many as possible; the message of the first failure is kept. */
static void move_back(const qb__notes *names, const char *from, const char *to) {
    for (size_t i = 0; i < names->count; i++) move(from, to, names->text[i], true);
}

static void move_one_back(const char *from, const char *to) {
    if (is_there(from) && !is_there(to)) rename_to(from, to, to);
}

static qb_status retire_whole(const qb__staging *s) {
    struct stat about;
    if (lstat(s->target, &about) != 0) return QB_OK;
    if (S_ISDIR(about.st_mode) && s->kind == QB__STAGING_FILE)
        return qb__fail_errno(EISDIR, "giving its name to", s->target);
    return rename_to(s->target, s->old, s->target);
}

qb_status qb__member_retire(qb__member *member) {
    const qb__staging *s = &member->staging;
    if (s->kind == QB__STAGING_FOLDER) return QB_OK;
    if (s->kind != QB__STAGING_MEMBERS) return retire_whole(s);
    if (mkdir(s->old, 0777) != 0) return qb__fail_errno(errno, "replacing images in", s->target);
    return move_all(&member->names, s->target, s->old);
}

qb_status qb__member_install(qb__member *member) {
    const qb__staging *s = &member->staging;
    if (s->kind != QB__STAGING_MEMBERS) return rename_to(s->fresh, s->target, s->target);
    return move_all(&member->names, s->fresh, s->target);
}

qb_status qb__member_flush(const qb__member *member) {
    const qb__staging *s = &member->staging;
    if (s->kind == QB__STAGING_MEMBERS) return qb__flush_names(s->target, s->target);
    char *folder = qb__folder_of(s->target);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", s->target);
    qb_status status = qb__flush_names(folder, s->target);
    qb__free(folder);
    return status;
}

void qb__member_withdraw(qb__member *member) {
    const qb__staging *s = &member->staging;
    if (s->kind == QB__STAGING_MEMBERS)
        move_back(&member->names, s->target, s->fresh);
    else
        move_one_back(s->target, s->fresh);
}

void qb__member_restore(qb__member *member) {
    const qb__staging *s = &member->staging;
    qb__notes names = {0};
    if (s->kind == QB__STAGING_FILE || s->kind == QB__STAGING_STORE) move_one_back(s->old, s->target);
    if (s->kind == QB__STAGING_MEMBERS && is_there(s->old) && list_files(s->old, &names) == QB_OK)
        move_back(&names, s->old, s->target);
    qb__notes_release(&names);
}

void qb__member_resume(qb__member *member) {
    const qb__staging *s = &member->staging;
    qb__notes names = {0};
    if (s->kind != QB__STAGING_MEMBERS)
        move_one_back(s->fresh, s->target);
    else if (is_there(s->fresh) && list_files(s->fresh, &names) == QB_OK)
        move_back(&names, s->fresh, s->target);
    qb__notes_release(&names);
}

bool qb__member_begun(const qb__member *member) {
    const qb__staging *s = &member->staging;
    qb__notes names = {0};
    if (s->kind != QB__STAGING_MEMBERS || !is_there(s->fresh)) return !is_there(s->fresh);
    bool begun = list_files(s->fresh, &names) == QB_OK && names.count < member->count;
    qb__notes_release(&names);
    return begun;
}
