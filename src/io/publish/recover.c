/* SPDX-License-Identifier: MIT */
/* Remains of killed runs: half exchanged sets, and hidden folders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/publish/swap.h"
#include "io/publish/publication.h"
#include "io/tiff/tiff_write.h"

/* If no new file is in place, everything older comes back. Otherwise the rest of the new files get their names; all
 * older ones have been moved away by then. False if the disk refuses: the set stays. */
static bool settle(const char *folder, qb__member *members, size_t count, const qb_env *env) {
    bool begun = false;
    for (size_t i = 0; i < count; i++) begun = begun || qb__member_begun(&members[i]);
    for (size_t i = count; i-- > 0;) {
        if (begun)
            qb__member_resume(&members[i]);
        else
            qb__member_restore(&members[i]);
    }
    qb__info(env, "%s: a run was killed while it gave names to %zu outputs: %s", folder, count,
             begun ? "they have them now" : "what was there before is there again");
    for (size_t i = 0; i < count; i++)
        if (qb__member_flush(&members[i]) != QB_OK) return false;
    for (size_t i = count; i-- > 1;) qb__staging_remove(members[i].staging.folder);
    return true;
}

/* Finish or undo the set of a folder that was taken over. False if it must stay because its content is unknown. */
static bool finish_set(const char *folder, bool *was_set, const qb_env *env) {
    qb__member members[QB__FILE_SET_MOST];
    size_t count;
    qb_status status = qb__file_set_read(folder, members, &count);
    *was_set = count > 0;
    bool settled = !count || settle(folder, members, count, env);
    for (size_t i = 0; i < count; i++) qb__member_release(&members[i]);
    if (count && settled) qb__staging_remove(folder);
    return settled && status == QB_OK;
}

/* Finish the set in the first hidden folder before, if that folder still exists. */
static bool finish_first(const char *folder, const qb_env *env) {
    char first[PATH_MAX];
    char *name = qb__join(folder, "first");
    bool good = name, was_set;
    ssize_t n = name ? readlink(name, first, sizeof first - 1) : -1;
    qb__free(name);
    if (n <= 0) return good;
    first[n] = 0;
    if (access(first, F_OK) != 0) return true;
    int lock = qb__staging_claim(first);
    if (lock < 0) return false;
    good = finish_set(first, &was_set, env);
    close(lock);
    return good;
}

static double bytes_of(const char *folder, const char *name) {
    char *fresh = qb__join(folder, name);
    struct stat about;
    double bytes = 0;
    const bool there = fresh && lstat(fresh, &about) == 0;
    DIR *list = there && S_ISDIR(about.st_mode) ? opendir(fresh) : NULL;
    if (there && S_ISREG(about.st_mode)) bytes = (double)about.st_blocks * 512;
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            bytes += bytes_of(fresh, entry->d_name);
    if (list) closedir(list);
    qb__free(fresh);
    return bytes;
}

static double bytes_in(const char *folder) {
    return bytes_of(folder, "new") + bytes_of(folder, "new.gz") + bytes_of(folder, "parts");
}

/* Tell that a folder can be resumed: the next run that writes the same output removes it. */
static void tell_kept(const char *folder, const qb_env *env) {
    qb__info(env,
             "%s (%.1f MB) is kept of a run that was killed: its command with --resume goes on from there, without it "
             "begins anew",
             folder, bytes_in(folder) / 1e6);
}

/* What to do with folders that have finished parts. */
typedef enum kept { REMOVE, SPARE, SPARE_AND_TELL } kept;

static void recover_one(const char *folder, bool leftovers, kept how, const qb_env *env) {
    bool was_set = false;
    int lock = qb__staging_claim(folder);
    if (lock < 0) return; /* another process works there */
    bool good = finish_set(folder, &was_set, env);
    if (good && !was_set) good = finish_first(folder, env);
    const bool there = good && !was_set && leftovers && access(folder, F_OK) == 0;
    const bool spared = there && how != REMOVE && qb__staging_kept(folder);
    if (spared && how == SPARE_AND_TELL) tell_kept(folder, env);
    if (there && !spared) {
        qb__info(env, "removing %s (%.1f MB): left behind by a run that was killed", folder, bytes_in(folder) / 1e6);
        qb__staging_remove(folder);
    }
    close(lock);
}

static bool has_staging(const char *folder) {
    bool found = false;
    DIR *list = opendir(folder);
    for (struct dirent *entry; !found && list && (entry = readdir(list));) found = qb__staging_named(entry->d_name);
    if (list) closedir(list);
    return found;
}

static void recover(const char *folder, bool leftovers, const char *prefix, kept own, kept others, const qb_env *env) {
    if (!has_staging(folder)) return;
    int turn = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (turn >= 0 && flock(turn, LOCK_EX) != 0 && errno == EINTR) continue;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (!qb__staging_named(entry->d_name)) continue;
        char *path = qb__join(folder, entry->d_name);
        const kept how = prefix && qb__staging_for(entry->d_name, prefix) ? own : others;
        if (path) recover_one(path, leftovers, how, env);
        qb__free(path);
    }
    if (list) closedir(list);
    if (turn >= 0) close(turn);
}

void qb__recover(const char *folder, bool leftovers, const qb_env *env) {
    recover(folder, leftovers, NULL, SPARE, SPARE_AND_TELL, env);
}

void qb__recover_for(const char *folder, const char *prefix, bool spare, bool tell, const qb_env *env) {
    recover(folder, true, prefix, spare ? SPARE : REMOVE, tell ? SPARE_AND_TELL : SPARE, env);
}

/* Recover in an existing folder: only volumes leave finished parts. */
static qb_status recover_members(const char *path, const char *target, const qb_env *env) {
    char label[QB__NAME_ROOM], *prefix = NULL;
    qb_status status = qb__series_label(path, "slice_", label);
    if (status == QB_OK) status = qb__staging_prefix(QB__STAGING_MEMBERS, target, label, &prefix);
    if (status == QB_OK) qb__recover_for(target, prefix, false, true, env);
    qb__free(prefix);
    return status;
}

/* Recover a file, or a folder that will be created; and inside an existing folder. */
static qb_status recover_output(const char *path, const qb_env *env) {
    char *name = qb__has_number(path) && !qb__is_folder(path) ? qb__folder_of(path) : qb__strdup(path);
    char *target = NULL, *folder = NULL, *prefix = NULL;
    for (size_t n = name ? strlen(name) : 0; n > 1 && name[n - 1] == '/';) name[--n] = 0;
    qb_status status = name ? qb__target_of(name, &target) : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    if (status == QB_OK && qb__is_folder(target)) status = recover_members(path, target, env);
    if (status == QB_OK && !(folder = qb__folder_of(target)))
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    if (status == QB_OK) status = qb__staging_prefix(QB__STAGING_FILE, target, NULL, &prefix);
    if (status == QB_OK) qb__recover_for(folder, prefix, false, true, env);
    QB__FREE(prefix, folder, target, name);
    return status;
}

qb_status qb__recover_space(const char *folder, const char *path, uint64_t bytes, const qb_env *env) {
    qb_status status = qb__check_space(folder, path, bytes);
    if (status != QB_NO_SPACE) return status;
    status = recover_output(path, env);
    return status == QB_OK ? qb__check_space(folder, path, bytes) : status;
}
