/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir_checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/trust.h"
#include "base/warning.h"
#include "io/publish/staging.h"
#include "io/publish/paths.h"
#include "io/publish/publication.h"

static const char prefix[] = "slab_", next_one[] = ".next";

/* ---- the folder ---- */

static qb_status name_folder(const char *output, char **folder) {
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/') n--;
    const size_t room = n + sizeof ".checkpoint";
    qb_status status = qb__alloc(room, 1, folder);
    if (status == QB_OK) snprintf(*folder, room, "%.*s.checkpoint", (int)n, output);
    return status;
}

/* True for the names slab_NNNNNN and slab_NNNNNN.next, made by path_of(). */
static bool is_slab(const char *name) {
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    const char *digits = name + sizeof prefix - 1, *end = digits + strspn(digits, "0123456789");
    return end - digits >= 6 && (!*end || strcmp(end, next_one) == 0);
}

/* Refuse a folder that is not ours. Only our own files are overwritten and removed: a folder of that name is not used
 * if it holds anything else, or if others can write to it. read: files are checked when they are read. QB_OK if there
 * is no folder. */
static qb_status check_folder(const char *folder, bool read) {
    char other[64] = "";
    struct stat about;
    DIR *list = opendir(folder);
    if (!list) return QB_OK;
    const char *distrust = fstat(dirfd(list), &about) == 0 ? qb__distrust(&about) : NULL;
    for (struct dirent *entry; !*other && (entry = readdir(list));) {
        const char *name = entry->d_name;
        const bool ours =
            strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lock") == 0 || qb__staging_named(name);
        if (!ours && !(is_slab(name) && (read || qb__checkpoint_is(dirfd(list), name))))
            snprintf(other, sizeof other, "%.60s", name);
    }
    closedir(list);
    if (*other)
        return qb__fail(QB_BAD_ARGUMENT,
                        "the folder %s holds %s, which is no checkpoint: move the folder away, or give another -o",
                        folder, other);
    return distrust ? qb__fail(QB_BAD_ARGUMENT, "the folder %s cannot keep checkpoints: %s", folder, distrust) : QB_OK;
}

/* Lock the folder; an existing folder need not have a lock file. *anew: nothing in the folder belongs to this run. */
static bool take(qb__checkpoint *c, bool *anew) {
    *anew = true;
    if (c->job) return (c->lock = qb__staging_share(c->folder, c->job, anew)) >= 0;
    char *name = qb__join(c->folder, "lock");
    const int lock = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (lock >= 0) {
        close(lock);
        c->lock = qb__staging_claim(c->folder);
    }
    qb__free(name);
    return c->lock >= 0;
}

qb_status qb__checkpoint_open(const char *output, bool resume, double every, bool all, const char *job,
                              const qb__icd_halo *halo, const qb_env *env, qb__checkpoint *c) {
    bool anew;
    *c = (qb__checkpoint){.every = every,
                          .resume = resume,
                          .all = all,
                          .job = job,
                          .halo = halo,
                          .asked = output && every > 0 && qb__hash_known(),
                          .env = env,
                          .lock = -1,
                          .saved = qb__now()};
    if (resume && !output)
        return qb__fail(QB_BAD_ARGUMENT, "--resume goes on from files next to the output: give -o OUT");
    qb_status status = resume ? qb__hash_for_resume() : QB_OK;
    if (status != QB_OK || !output || !qb__hash_known()) return status;
    status = name_folder(output, &c->folder);
    if (status != QB_OK || !resume) return status;
    if (!qb__is_folder(c->folder)) {
        qb__info(env, "%s is not there: from the beginning", c->folder);
        return QB_OK;
    }
    status = check_folder(c->folder, true);
    if (status != QB_OK || take(c, &anew)) return status;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s cannot be locked: another run that writes %s is at work; wait for it, or give another -o",
                    c->folder, output);
}

/* Remove our files, complete or incomplete. */
static void empty(const qb__checkpoint *c) {
    qb__recover(c->folder, true, c->env);
    DIR *list = opendir(c->folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (is_slab(entry->d_name) && qb__checkpoint_is(dirfd(list), entry->d_name))
            unlinkat(dirfd(list), entry->d_name, 0);
    if (list) closedir(list);
}

void qb__checkpoint_drop(qb__checkpoint *c) {
    struct stat about;
    if (c->lock < 0) return;
    if (fstat(c->lock, &about) == 0 && about.st_nlink > 0) { /* no other rank has removed it */
        char *name = qb__join(c->folder, "lock");
        empty(c);
        if (name) unlink(name);
        rmdir(c->folder);
        qb__free(name);
    }
    close(c->lock);
    c->lock = -1;
}

void qb__checkpoint_close(qb__checkpoint *c) {
    if (c->lock >= 0) {
        qb__info(c->env, "%s keeps the finished part: the same command with --resume goes on from there", c->folder);
        close(c->lock);
    }
    qb__free(c->folder);
    *c = (qb__checkpoint){.lock = -1};
}

static qb_status path_of(const qb__checkpoint *c, const qb__checkpoint_slab *slab, const char *more, char *path,
                         size_t room) {
    const int n = snprintf(path, room, "%s/%s%06zu%s", c->folder, prefix, slab->first, more);
    return (size_t)n < room ? QB_OK : qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", c->folder);
}

/* ---- resume ---- */

/* Read the state of a file. *state: a number that orders the states of a slab; -1: there is no file. */
static qb_status peek(const char *path, const qb__checkpoint_slab *slab, double *state) {
    struct stat about;
    qb__checkpoint_found found = QB__FOUND_NOTHING;
    int turns = 0;
    *state = -1;
    if (stat(path, &about) != 0) return QB_OK;
    const qb_status status = qb__checkpoint_peek(path, slab, &found, &turns);
    *state = 2 * turns + (found == QB__FOUND_DONE);
    return status;
}

/* The latest state that each rank has in one of its two files; -1: none. */
static double common(const double *states, int ranks) {
    double latest = -1;
    for (int own = 0; own < 2; own++) {
        bool all = true;
        for (int i = 1; i < ranks; i++) all = all && (states[2 * i] == states[own] || states[2 * i + 1] == states[own]);
        if (all && states[own] > latest) latest = states[own];
    }
    return latest;
}

static qb_status look_together(const qb__checkpoint *c, const char *path, const qb__checkpoint_slab *slab,
                               double *state) {
    char next[PATH_MAX];
    double own[2] = {-1, -1};
    const bool can = c->lock >= 0; /* if one rank does not see the folder, no rank uses it */
    qb_status status = path_of(c, slab, next_one, next, sizeof next);
    if (can && status == QB_OK) status = peek(path, slab, &own[0]);
    if (can && status == QB_OK) status = peek(next, slab, &own[1]);
    status = qb__icd_halo_gather(c->halo, status, own, 2);
    if (status != QB_OK) return status;
    *state = common(c->halo->numbers, qb__comm_count(c->halo->comm));
    if (*state < 0 || own[0] == *state) return QB_OK;
    return rename(next, path) == 0 ? QB_OK : qb__fail_errno(errno, "renaming", next);
}

qb_status qb__checkpoint_look(qb__checkpoint *c, const qb__checkpoint_slab *slab, qb__checkpoint_found *found) {
    char path[PATH_MAX];
    double state = -1;
    *found = QB__FOUND_NOTHING;
    if (!c->resume || (c->lock < 0 && !c->halo)) return QB_OK;
    qb_status status = path_of(c, slab, "", path, sizeof path);
    if (status == QB_OK) status = c->halo ? look_together(c, path, slab, &state) : peek(path, slab, &state);
    if (status == QB_OK && state >= 0) *found = fmod(state, 2) != 0 ? QB__FOUND_DONE : QB__FOUND_TURNING;
    return status;
}

qb_status qb__checkpoint_load(qb__checkpoint *c, qb__checkpoint_slab *slab) {
    char path[PATH_MAX];
    qb_status status = path_of(c, slab, "", path, sizeof path);
    if (status == QB_OK) status = qb__checkpoint_read(path, slab);
    if (status != QB_OK) return status;
    const double equits = slab->turns ? slab->trace[slab->turns - 1].equits : 0;
    if (slab->images)
        c->slabs++;
    else
        c->equits = equits;
    qb__info(c->env, "slices %zu to %zu: %.1f equits are taken from %s", slab->first, slab->first + slab->slices - 1,
             equits, path);
    return QB_OK;
}

/* ---- save ---- */

/* Make and lock the folder. Files of another run are removed; files of a resumed run stay. */
static qb_status begin(qb__checkpoint *c) {
    bool anew;
    if (c->lock >= 0) return QB_OK;
    if (mkdir(c->folder, 0755) != 0 && errno != EEXIST) return qb__fail_errno(errno, "creating", c->folder);
    QB__OR_RETURN(check_folder(c->folder, false));
    if (!take(c, &anew))
        return qb__fail(QB_IO, "%s cannot be locked: another run works there, or its disk has no locks", c->folder);
    if (anew) empty(c);
    return QB_OK;
}

static qb_status publish(const char *path, const qb__checkpoint_slab *slab) {
    qb__publication *set = NULL;
    const char *fresh;
    qb_status status;
    QB__TRY(qb__publication_create(NULL, &set));
    QB__TRY(qb__publication_file(set, path, &fresh));
    QB__TRY(qb__checkpoint_write(fresh, path, slab));
    status = qb__publication_commit(set);
    set = NULL;
out:
    qb__publication_abort(set);
    return status;
}

static qb_status write_as(qb__checkpoint *c, const qb__checkpoint_slab *slab, const char *more) {
    char path[PATH_MAX];
    qb_status status = begin(c);
    if (status == QB_OK) status = path_of(c, slab, more, path, sizeof path);
    return status == QB_OK ? publish(path, slab) : status;
}

/* When all ranks have written the next file, it replaces the previous one; otherwise none does. */
static qb_status replace_together(const qb__checkpoint *c, const qb__checkpoint_slab *slab, qb_status mine) {
    char path[PATH_MAX], next[PATH_MAX];
    double lack = mine != QB_OK;
    qb_status status = qb__icd_halo_sum(c->halo, QB_OK, &lack, 1);
    if (mine != QB_OK || status != QB_OK) return mine != QB_OK ? mine : status;
    QB__TRY(path_of(c, slab, "", path, sizeof path));
    QB__TRY(path_of(c, slab, next_one, next, sizeof next));
    if (lack > 0) {
        unlink(next);
        return qb__fail(QB_IO, "another rank cannot write its own");
    }
    if (rename(next, path) != 0) status = qb__fail_errno(errno, "renaming", next);
out:
    return status;
}

static void save(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    qb_status status = write_as(c, slab, c->halo ? next_one : "");
    if (c->halo) status = replace_together(c, slab, status);
    c->saved = qb__now();
    if (status == QB_OK) return;
    qb__warn(c->env, "no more checkpoints: %s" QB__CODE("checkpoint-stopped"), qb_detail());
    c->every = 0;
}

/* True if it is time to save; for slabs that sweep together, if it is time for any of them. If ranks cannot agree, the
 * next exchange reports the reason. */
static bool is_due(const qb__checkpoint *c, bool due) {
    double any = due && c->folder && c->every > 0;
    if (c->halo && !c->asked) return false;
    return qb__icd_halo_largest(c->halo, QB_OK, &any, 1) == QB_OK && any > 0;
}

bool qb__checkpoint_due(const qb__checkpoint *c) {
    return c->folder && c->every > 0 && qb__now() - c->saved >= c->every;
}

void qb__checkpoint_swept(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    if (is_due(c, !slab->stopped && qb__now() - c->saved >= c->every)) save(c, slab);
}

/* Save the images of a finished slab. They are small compared with the work that they cost, but short jobs write no
 * files. */
void qb__checkpoint_done(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    if (is_due(c, c->all && (c->lock >= 0 || qb__now() - c->saved >= c->every))) save(c, slab);
}
