/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir_checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/place.h"
#include "io/publication.h"

static const char prefix[] = "slab_";

/* ---- the folder ---- */

static qb_status name_folder(const char *output, char **folder) {
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/') n--;
    const size_t room = n + sizeof ".checkpoint";
    qb_status status = qb__alloc(room, 1, folder);
    if (status == QB_OK) snprintf(*folder, room, "%.*s.checkpoint", (int)n, output);
    return status;
}

/* Its lock; a folder that is there need not have one. *anew: nothing in it is of this run. */
static bool take(qb__checkpoint *c, bool *anew) {
    *anew = true;
    if (c->job) return (c->lock = qb__hidden_share(c->folder, c->job, anew)) >= 0;
    char *name = qb__join(c->folder, "lock");
    const int lock = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (lock >= 0) {
        close(lock);
        c->lock = qb__hidden_claim(c->folder);
    }
    qb__free(name);
    return c->lock >= 0;
}

qb_status qb__checkpoint_open(const char *output, bool resume, double every, bool all, const char *job,
                              const qb_env *env, qb__checkpoint *c) {
    bool anew;
    *c = (qb__checkpoint){.every = every, .resume = resume, .all = all, .job = job, .env = env, .lock = -1, .saved = qb__now()};
    if (resume && !output) return qb__fail(QB_BAD_ARGUMENT, "--resume goes on beside a file: give -o OUT");
    if (resume && !qb__hash_known())
        return qb__fail(QB_UNSUPPORTED, "--resume needs a build with xxhash: without it nothing tells data from other data");
    if (!output || !qb__hash_known()) return QB_OK;
    qb_status status = name_folder(output, &c->folder);
    if (status != QB_OK || !resume) return status;
    if (!qb__is_folder(c->folder)) {
        qb__info(env, "%s is not there: from the beginning", c->folder);
        return QB_OK;
    }
    if (take(c, &anew)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s cannot be locked: another run that writes %s is at work; wait for it, or give another -o",
                    c->folder, output);
}

/* What we wrote, and what was left half written. */
static void empty(const qb__checkpoint *c) {
    qb__recover(c->folder, true, c->env);
    DIR *list = opendir(c->folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0) unlinkat(dirfd(list), entry->d_name, 0);
    if (list) closedir(list);
}

void qb__checkpoint_drop(qb__checkpoint *c) {
    struct stat about;
    if (c->lock < 0) return;
    if (fstat(c->lock, &about) == 0 && about.st_nlink > 0) { /* no other rank has been here */
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
        qb__info(c->env, "%s keeps what is done: the same command with --resume goes on from there", c->folder);
        close(c->lock);
    }
    qb__free(c->folder);
    *c = (qb__checkpoint){.lock = -1};
}

static qb_status path_of(const qb__checkpoint *c, const qb__checkpoint_slab *slab, char *path, size_t room) {
    const int n = snprintf(path, room, "%s/%s%06zu", c->folder, prefix, slab->first);
    return (size_t)n < room ? QB_OK : qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", c->folder);
}

/* ---- taking up ---- */

qb_status qb__checkpoint_look(qb__checkpoint *c, const qb__checkpoint_slab *slab, qb__checkpoint_found *found) {
    char path[PATH_MAX];
    struct stat about;
    *found = QB__FOUND_NOTHING;
    if (!c->resume || c->lock < 0) return QB_OK;
    qb_status status = path_of(c, slab, path, sizeof path);
    if (status != QB_OK || stat(path, &about) != 0) return status;
    return qb__checkpoint_peek(path, slab, found);
}

qb_status qb__checkpoint_load(qb__checkpoint *c, qb__checkpoint_slab *slab) {
    char path[PATH_MAX];
    qb_status status = path_of(c, slab, path, sizeof path);
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

/* ---- keeping ---- */

/* The folder, ours and without anything of another run; what is taken up stays in it. */
static qb_status begin(qb__checkpoint *c) {
    bool anew;
    if (c->lock >= 0) return QB_OK;
    if (mkdir(c->folder, 0777) != 0 && errno != EEXIST) return qb__fail_errno(errno, "creating", c->folder);
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

static void save(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    char path[PATH_MAX];
    qb_status status = begin(c);
    if (status == QB_OK) status = path_of(c, slab, path, sizeof path);
    if (status == QB_OK) status = publish(path, slab);
    c->saved = qb__now();
    if (status == QB_OK) return;
    qb__warn(c->env, "no more checkpoints: %s", qb_detail());
    c->every = 0;
}

void qb__checkpoint_turned(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    const bool due = c->folder && c->every > 0 && qb__now() - c->saved >= c->every;
    if (due && !slab->stopped) save(c, slab);
}

/* Images are small beside what they cost, but short jobs leave no trace. */
void qb__checkpoint_done(qb__checkpoint *c, const qb__checkpoint_slab *slab) {
    const bool due = c->lock >= 0 || qb__now() - c->saved >= c->every;
    if (c->folder && c->every > 0 && c->all && due) save(c, slab);
}
