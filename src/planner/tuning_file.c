/* SPDX-License-Identifier: MIT */
#include "planner/tuning_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inputs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/warning.h"
#include "io/publish/publication.h"

enum { FILE_MAX = 4 << 20, PATH_BYTES = PATH_MAX, NAME_BYTES = PATH_MAX + 40 };

const char *qb__tuning_path(void) {
    static _Thread_local char path[PATH_BYTES];
    const char *own = getenv("QB_TUNING"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;
    path[0] = 0;
    if (own)
        n = snprintf(path, sizeof path, "%s", own);
    else if (config && *config == '/')
        n = snprintf(path, sizeof path, "%s/quickbeam/tuning.json", config);
    else if (home && *home == '/')
        n = snprintf(path, sizeof path, "%s/.config/quickbeam/tuning.json", home);
    if (n >= PATH_BYTES) path[0] = 0; /* a truncated name would be another file */
    return path;
}

/* ---- reading ---- */

static qb_status unusable(const char *why) {
    return qb__fail(QB_BAD_INPUT, "the tuning file %s %s; move it away, or name another by QB_TUNING",
                    qb__tuning_path(), why);
}

static qb_status unreadable(int error) {
    char why[160];
    snprintf(why, sizeof why, "cannot be read (%s)", strerror(error));
    return unusable(why);
}

static qb_status read_all(int fd, char *text, size_t count) {
    while (count) {
        ssize_t n = read(fd, text, count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return unreadable(errno);
        if (n == 0) return unusable("became shorter while it was read");
        text += n;
        count -= (size_t)n;
    }
    *text = 0;
    return QB_OK;
}

/* An empty file has no rows, and nothing to lose. */
static qb_status parse(const char *text, size_t count, cJSON **rows) {
    cJSON *root = count ? NULL : cJSON_CreateArray();
    if (!root && strlen(text) == count) root = cJSON_ParseWithOpts(text, NULL, true);
    if (cJSON_IsArray(root)) {
        *rows = root;
        return QB_OK;
    }
    cJSON_Delete(root);
    return unusable("is not the JSON array that qb tune writes");
}

static qb_status read_file(int fd, cJSON **rows) {
    struct stat about;
    char *text = NULL;
    qb_status status;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return unusable("is no regular file");
    if (about.st_size > FILE_MAX) return unusable("is larger than 4 MiB");
    const size_t count = (size_t)about.st_size;
    QB__TRY(qb__alloc(count + 1, 1, &text));
    QB__TRY(read_all(fd, text, count));
    QB__TRY(parse(text, count, rows));
out:
    qb__free(text);
    return status;
}

qb_status qb__tuning_read(cJSON **rows) {
    const char *path = qb__tuning_path();
    struct stat about;
    *rows = NULL;
    if (!*path || lstat(path, &about) != 0) {
        *rows = cJSON_CreateArray();
        return *rows ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for %s", path);
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* opening a pipe would block */
    if (fd < 0) return errno == ENOENT ? unusable("is a link that leads nowhere") : unreadable(errno);
    qb_status status = read_file(fd, rows);
    close(fd);
    return status;
}

/* The planner asks for many kernels in a row: check only after a short time whether the file has changed. */
static const double WHILE = 0.005; /* seconds */
static struct {
    pthread_mutex_t lock;
    double asked;
    char path[PATH_BYTES];
    struct stat about;
    cJSON *rows;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_kept(const char *path, const struct stat *about) {
    const struct stat *old = &kept.about;
    return kept.rows && strcmp(path, kept.path) == 0 && about->st_dev == old->st_dev && about->st_ino == old->st_ino &&
           about->st_size == old->st_size && about->st_mtim.tv_sec == old->st_mtim.tv_sec &&
           about->st_mtim.tv_nsec == old->st_mtim.tv_nsec;
}

const cJSON *qb__tuning_borrow(void) {
    const char *path = qb__tuning_path();
    struct stat about = {0};
    const double now = qb__now();
    pthread_mutex_lock(&kept.lock);
    if (kept.rows && kept.asked > 0 && now - kept.asked < WHILE && strcmp(path, kept.path) == 0) return kept.rows;
    kept.asked = now;
    if (*path && stat(path, &about) == 0) /* no file: all zeros, no rows */
        qb__input_advice(path, &about);
    if (is_kept(path, &about)) return kept.rows;
    cJSON_Delete(kept.rows);
    if (qb__tuning_read(&kept.rows) != QB_OK) kept.rows = NULL;
    snprintf(kept.path, sizeof kept.path, "%s", path);
    kept.about = about;
    return kept.rows;
}

void qb__tuning_return(void) { pthread_mutex_unlock(&kept.lock); }

/* ---- writing ---- */

/* The target of a symbolic link, so that the link stays. */
static const char *target(char name[PATH_MAX]) {
    const char *path = qb__tuning_path();
    return realpath(path, name) ? name : path;
}

static void make_folders(const char *path) {
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(folder, 0777); /* an existing folder stays; errors appear when the file is opened */
        *at = '/';
    }
}

qb_status qb__tuning_write(const cJSON *rows) {
    const char *path = qb__tuning_path();
    char *text = cJSON_Print(rows);
    if (!text) return qb__fail(QB_NO_MEMORY, "no memory for %s", path);
    qb_status status = qb__publish_bytes(path, text, strlen(text));
    cJSON_free(text);
    pthread_mutex_lock(&kept.lock);
    kept.asked = 0;
    pthread_mutex_unlock(&kept.lock);
    return status;
}

/* A lock on the file itself would be lost when the new file takes its name. */
int qb__tuning_lock(const qb_env *env) {
    enum { LOCK_SECONDS = 5 };
    char name[PATH_MAX], lock_name[NAME_BYTES];
    if (!*qb__tuning_path()) return -1;
    make_folders(qb__tuning_path());
    snprintf(lock_name, sizeof lock_name, "%s.lock", target(name));
    int fd = open(lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    /* The owner of the lock writes a small file. A stopped owner, or another program, may hold it for ever. */
    const double until = qb__now() + LOCK_SECONDS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EINTR && errno != EWOULDBLOCK) break;
        if (qb__now() > until) {
            qb__warn(env, "%s was held by another process for %d s: %s is written without it" QB__CODE("tuning-lock"),
                     lock_name, LOCK_SECONDS, qb__tuning_path());
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return fd; /* write even without a lock, because some file systems have no locks */
}

void qb__tuning_unlock(int lock) {
    if (lock >= 0) close(lock);
}
