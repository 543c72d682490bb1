/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* environ, pipe2 */
/* The HDF5 library and cfitsio crash, or never end, on some malformed files, and no call of theirs detects them. So each
 * file is first read by a separate process, whose crash is only an error here. That process is a program that is started
 * anew, not a fork: the caller may have threads, whose locks would stay locked in the copy. */
#include "io/guard/guard.h"

#include "io/guard/guard_reader.h"

#ifdef QB__GUARD
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "io/hdf5/hdf5_broken.h"

/* The result of a trial, valid as long as the file does not change. */
typedef struct proof {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
    uint64_t dataset; /* hash of its name */
} proof;

enum { PROOFS = 32 };

/* Shared by the process, as HDF5's own state. */
static struct {
    pthread_mutex_t lock;
    const char *program, *argument;
    proof proofs[PROOFS];
    size_t count;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

void qb_tool_guard(const char *program, const char *argument) {
    pthread_mutex_lock(&guard.lock);
    guard.program = program;
    guard.argument = argument;
    pthread_mutex_unlock(&guard.lock);
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static bool is_proven(const proof *one) {
    for (size_t i = 0; i < guard.count && i < PROOFS; i++) {
        const proof *p = &guard.proofs[i];
        if (p->device == one->device && p->inode == one->inode && p->bytes == one->bytes &&
            p->dataset == one->dataset && p->changed.tv_sec == one->changed.tv_sec &&
            p->changed.tv_nsec == one->changed.tv_nsec)
            return true;
    }
    return false;
}

bool qb__guarded(void) {
    pthread_mutex_lock(&guard.lock);
    const bool named = guard.program != NULL;
    pthread_mutex_unlock(&guard.lock);
    return named;
}

qb_status qb__guard_start(const char *path, const char *dataset, const char *task, int other, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *const words[] = {(char *)guard.program, (char *)guard.argument, (char *)path,
                           (char *)dataset,       (char *)task,           NULL};
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) error = posix_spawnattr_init(&attributes);
    if (!error && task) error = posix_spawn_file_actions_adddup2(&actions, other, STDIN_FILENO);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, other, STDOUT_FILENO);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn(child, guard.program, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (!error) return QB_OK;
    qb_status status = qb__fail_errno(error, "starting the trial of", path);
    return status == QB_NOT_FOUND ? QB_IO : status; /* the file itself exists */
}

/* Its output is a pipe, which closes when the process ends, for any reason. */
static qb_status start(const char *path, const char *dataset, pid_t *child, int *output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return qb__fail_errno(errno, "starting the trial of", path);
    qb_status status = qb__guard_start(path, dataset, NULL, ends[1], child);
    close(ends[1]);
    *output = ends[0];
    if (status != QB_OK) close(ends[0]);
    return status;
}

/* Read its output until it ends. False if that takes too long; then it is killed. */
static bool listen_to(pid_t child, int output) {
    struct pollfd end = {.fd = output, .events = POLLIN};
    char said[1 << 16];
    size_t bytes = 0;
    double until = qb__now() + QB__GUARD_SECONDS, left;
    ssize_t n = -1;
    while (n != 0 && (left = until - qb__now()) > 0) {
        if (poll(&end, 1, (int)(left * 1000) + 1) <= 0) continue;
        n = read(output, said + bytes, sizeof said - bytes - 1); /* 0 is the end, or a list that is too long */
        if (n > 0) bytes += (size_t)n;
    }
    if (n != 0) kill(child, SIGKILL);
    qb__h5_note_broken(said, bytes);
    return n == 0;
}

qb_status qb__guard_end(pid_t child, const char *path, bool in_time) {
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
    int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (!in_time)
        return qb__fail(QB_IO, "%s: the library that reads it did not finish within %d s: check the disk", path,
                        QB__GUARD_SECONDS);
    if (number == SIGXCPU)
        return qb__fail(QB_BAD_INPUT, "%s: malformed: the library that reads it does not finish opening it", path);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP)
        return qb__fail(QB_CANCELLED, "interrupted while %s was tried", path);
    if (number == SIGKILL) return qb__fail(QB_NO_MEMORY, "%s: the process that tried it was killed", path);
    if (number)
        return qb__fail(QB_BAD_INPUT, "%s: malformed: the library that reads it crashes (%s)", path, strsignal(number));
    if (WEXITSTATUS(how) == QB__GUARD_NO_MEMORY)
        return qb__fail(QB_BAD_INPUT, "%s: malformed: the library that reads it asks for an absurd amount of memory",
                        path);
    if (WEXITSTATUS(how))
        return qb__fail(QB_BAD_INPUT, "%s: malformed: the library that reads it fails (exit code %d)", path,
                        WEXITSTATUS(how));
    return QB_OK; /* it ended normally, perhaps with errors, which are found and reported again */
}

static qb_status try_in_child(const char *path, const char *dataset) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return QB_OK; /* reported when the file is opened */
    const proof one = {about.st_dev, about.st_ino, about.st_size, about.st_mtim, hash_of(dataset)};
    if (is_proven(&one)) return QB_OK;
    pid_t child;
    int output = -1;
    QB__OR_RETURN(start(path, dataset, &child, &output));
    qb__h5_forget_broken(path);
    bool in_time = listen_to(child, output);
    close(output);
    const qb_status status = qb__guard_end(child, path, in_time);
    if (status == QB_OK) guard.proofs[guard.count++ % PROOFS] = one;
    return status;
}

qb_status qb__guard_prove(const char *path, const char *dataset) {
    qb_status status = QB_OK;
    pthread_mutex_lock(&guard.lock);
    if (guard.program) status = try_in_child(path, dataset);
    pthread_mutex_unlock(&guard.lock);
    return status;
}
#else
void qb_tool_guard(const char *program, const char *argument) { (void)program, (void)argument; }
#endif
