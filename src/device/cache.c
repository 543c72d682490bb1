/* SPDX-License-Identifier: MIT */
#include "device/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/trust.h"

enum { PATH_MAX_BYTES = 4096 };

static const char magic[8] = "qbprog1";
typedef struct header {
    char magic[8];
    uint64_t key[2], bytes, checksum[2];
} header;
static const uint64_t bytes_max = 1u << 30;

void qb__hash_add(qb__hash *hash, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint64_t a = hash->word[0], b = hash->word[1];
    for (size_t i = 0; i < count; i++) {
        a = (a ^ at[i]) * 0x100000001b3u;          /* FNV-1a */
        b = (b + at[i] + 1) * 0x9e3779b97f4a7c15u; /* like FNV-1a, but with another multiplier and additional mixing */
        b ^= b >> 29;
    }
    hash->word[0] = a;
    hash->word[1] = b;
}

const char *qb__program_cache_folder(void) {
    static _Thread_local char folder[PATH_MAX_BYTES];
    const char *own = getenv("QB_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (own)
        n = snprintf(folder, sizeof folder, "%s", own);
    else if (xdg && *xdg == '/')
        n = snprintf(folder, sizeof folder, "%s/quickbeam", xdg);
    else if (home && *home == '/')
        n = snprintf(folder, sizeof folder, "%s/.cache/quickbeam", home);
    if (n <= 0 || n > PATH_MAX_BYTES - 128) folder[0] = '\0';
    return folder;
}

static bool path_of(const uint64_t key[2], char path[PATH_MAX_BYTES]) {
    const char *folder = qb__program_cache_folder();
    if (!*folder) return false;
    int n = snprintf(path, PATH_MAX_BYTES, "%s/%016llx%016llx.bin", folder, (unsigned long long)key[0],
                     (unsigned long long)key[1]);
    return n > 0 && n < PATH_MAX_BYTES;
}

/* Cached programs run with the user's rights: they are read only from a folder that nobody else can write. Returns why
 * an existing folder is not used; NULL = it is used. */
static const char *not_ours(const struct stat *st) {
    if (!S_ISDIR(st->st_mode)) return "it is no folder; move it away";
    if (st->st_uid != geteuid()) return "it belongs to another user; set QB_CACHE_DIR";
    return qb__distrust(st);
}

static bool folder_is_ours(const char *folder) {
    struct stat st;
    return stat(folder, &st) == 0 && !not_ours(&st);
}

const char *qb__program_cache_problem(void) {
    static _Thread_local char text[PATH_MAX_BYTES + 128];
    const char *folder = qb__program_cache_folder(), *why = NULL;
    struct stat st;
    if (*folder && stat(folder, &st) == 0) why = not_ours(&st);
    text[0] = '\0';
    if (why) snprintf(text, sizeof text, "compiled kernels are not kept in %s: %s", folder, why);
    return text;
}

static bool make_folder(const char *folder) {
    char path[PATH_MAX_BYTES];
    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST) return false;
        *slash = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST) return false;
    return folder_is_ours(folder);
}

static bool read_all(int fd, void *to, size_t count) {
    char *at = to;
    while (count) {
        ssize_t n = read(fd, at, count);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t count) {
    const char *at = from;
    while (count) {
        ssize_t n = write(fd, at, count);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

static bool read_file(int fd, const uint64_t key[2], qb__binary *binary) {
    header h;
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_all(fd, &h, sizeof h) ||
        memcmp(h.magic, magic, sizeof magic) != 0 || memcmp(h.key, key, sizeof h.key) != 0 || !h.bytes ||
        h.bytes > bytes_max || (uint64_t)st.st_size != h.bytes + sizeof h) {
        return false;
    }
    if (qb__alloc((size_t)h.bytes, 1, &binary->bytes) != QB_OK) return false;
    binary->count = (size_t)h.bytes;
    qb__hash sum = QB__HASH_START;
    if (read_all(fd, binary->bytes, binary->count)) {
        qb__hash_add(&sum, binary->bytes, binary->count);
        if (!memcmp(sum.word, h.checksum, sizeof sum.word)) return true;
    }
    qb__free(binary->bytes);
    *binary = (qb__binary){0};
    return false;
}

bool qb__cache_read(const uint64_t key[2], qb__binary *binary) {
    char path[PATH_MAX_BYTES];
    *binary = (qb__binary){0};
    if (!path_of(key, path) || !folder_is_ours(qb__program_cache_folder())) return false;
    /* Opening a pipe would block, and the target of a symbolic link is not trusted. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return false;
    bool good = read_file(fd, key, binary);
    close(fd);
    if (!good) unlink(path);
    return good;
}

bool qb__cache_write(const uint64_t key[2], const qb__binary *binary) {
    char path[PATH_MAX_BYTES], temporary[PATH_MAX_BYTES];
    if (!binary->count || !path_of(key, path) || !make_folder(qb__program_cache_folder())) return false;
    int n = snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", qb__program_cache_folder());
    if (n < 0 || n >= PATH_MAX_BYTES) return false;
    int fd = mkstemp(temporary); /* mkstemp creates the file with mode 0600 */
    if (fd < 0) return false;
    header h = {.key = {key[0], key[1]}, .bytes = binary->count};
    qb__hash sum = QB__HASH_START;
    qb__hash_add(&sum, binary->bytes, binary->count);
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.checksum, sum.word, sizeof sum.word);
    bool good = write_all(fd, &h, sizeof h) && write_all(fd, binary->bytes, binary->count);
    if (close(fd)) good = false;
    if (good && rename(temporary, path) == 0) return true;
    unlink(temporary);
    return false;
}

void qb__cache_remove(const uint64_t key[2]) {
    char path[PATH_MAX_BYTES];
    if (path_of(key, path)) unlink(path);
}
