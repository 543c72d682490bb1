/* SPDX-License-Identifier: MIT */
/* Preloaded into qb: the n-th call of one kind on files whose name contains a given text fails.
 * QB_FILES=CALL:TEXT:N:ERRNO, such as pread:scan.h5:2:5. N = 0: all such calls fail; ERRNO 0: the call hangs; -SIGNAL:
 * this signal is sent to the process before the call. CALL is open, pread (or read), pwrite or stat. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool must_fail(const char *call, const char *path) {
    static atomic_int calls;
    char kind[16], text[128];
    int n, error;
    const char *order = getenv("QB_FILES");
    if (!order || sscanf(order, "%15[^:]:%127[^:]:%d:%d", kind, text, &n, &error) != 4) return false;
    if (strcmp(kind, call) != 0 || !strstr(path, text)) return false;
    int count = atomic_fetch_add(&calls, 1) + 1;
    if (n && count != n) return false;
    while (!error) pause();
    if (error < 0) raise(-error);
    errno = error;
    return true;
}

static bool must_fail_at(const char *call, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return false;
    path[n] = 0;
    return must_fail(call, path);
}

#define NEXT(name, ...)                                                                                                \
    static __typeof__(&name) next;                                                                                     \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                      \
    return next(__VA_ARGS__)

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                                      \
        va_end(more);                                                                                                  \
        if (must_fail("open", path)) return -1;                                                                        \
        NEXT(name, path, flags, mode);                                                                                 \
    }
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *restrict path, const char *restrict mode) {                                                 \
        if (must_fail("open", path)) return NULL;                                                                      \
        NEXT(name, path, mode);                                                                                        \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define STAT(name, type)                                                                                               \
    int name(const char *restrict path, struct type *restrict about) {                                                 \
        if (must_fail("stat", path)) return -1;                                                                        \
        NEXT(name, path, about);                                                                                       \
    }
STAT(stat, stat)
STAT(stat64, stat64)

/* QB_DISK=FOLDER:BYTES: a disk with so many bytes, which holds the files in and below that folder. */
static size_t held;

static int add_size(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)path, (void)walk;
    if (kind == FTW_F) held += (size_t)about->st_blocks * 512;
    return 0;
}

int statvfs(const char *restrict path, struct statvfs *restrict disk) {
    static int (*next)(const char *, struct statvfs *);
    const char *order = getenv("QB_DISK");
    char folder[512];
    size_t bytes;
    if (!next) next = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
    const int failed = next(path, disk);
    if (failed || !order || sscanf(order, "%511[^:]:%zu", folder, &bytes) != 2) return failed;
    held = 0;
    nftw(folder, add_size, 16, FTW_PHYS);
    disk->f_frsize = 1;
    disk->f_bavail = bytes > held ? bytes - held : 0;
    return 0;
}

#define MOVE(name, call, type, offset_type)                                                                            \
    ssize_t name(int fd, type data, size_t bytes, offset_type offset) {                                                \
        if (must_fail_at(call, fd)) return -1;                                                                         \
        NEXT(name, fd, data, bytes, offset);                                                                           \
    }
MOVE(pread, "pread", void *, off_t)
MOVE(pread64, "pread", void *, off64_t)
MOVE(pwrite, "pwrite", const void *, off_t)
MOVE(pwrite64, "pwrite", const void *, off64_t)

ssize_t read(int fd, void *data, size_t bytes) {
    if (must_fail_at("pread", fd)) return -1;
    NEXT(read, fd, data, bytes);
}
