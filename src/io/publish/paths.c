/* SPDX-License-Identifier: MIT */
#include "io/publish/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

char *qb__join(const char *a, const char *b) {
    size_t room = strlen(a) + strlen(b) + 2;
    char *path;
    if (qb__alloc(room, 1, &path) != QB_OK) return NULL;
    snprintf(path, room, "%s/%s", a, b);
    return path;
}

bool qb__is_folder(const char *path) {
    struct stat about;
    size_t n = strlen(path);
    if (n && path[n - 1] == '/') return true;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool qb__is_pattern(const char *path) { return strpbrk(path, "*?[%") != NULL && access(path, F_OK) != 0; }

char *qb__folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return qb__strdup(".");
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    char *folder;
    if (qb__alloc(n + 1, 1, &folder) != QB_OK) return NULL;
    memcpy(folder, path, n);
    return folder;
}

const char *qb__last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *qb__ending(const char *path) {
    const char *dot = strrchr(path, '.'), *before = dot;
    if (!dot || strcasecmp(dot, ".gz") != 0) return dot;
    while (before > path && before[-1] != '.' && before[-1] != '/') before--;
    return before > path && before[-1] == '.' ? before - 1 : dot;
}

bool qb__has_number(const char *path) { return strchr(qb__last_part(path), '%') != NULL; }

/* The tag holds the time in addition to the process number, because in containers every run has the same process
 * number. */
void qb__part_tag(char *tag, size_t room) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(tag, room, "%ld-%llx", (long)getpid(),
             (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec);
}

/* Ask the file system of the nearest existing folder, because `folder` may not exist yet. */
static int statvfs_above(const char *folder, struct statvfs *disk) {
    int failed = statvfs(folder, disk);
    if (!failed || errno != ENOENT || strcmp(folder, ".") == 0) return failed;
    char *above = qb__folder_of(folder);
    if (!above) {
        errno = ENOMEM;
        return failed;
    }
    failed = statvfs_above(above, disk);
    qb__free(above);
    return failed;
}

qb_status qb__check_space(const char *folder, const char *path, uint64_t bytes) {
    struct statvfs disk;
    if (statvfs_above(folder, &disk) != 0) return qb__fail_errno(errno, "opening the folder", folder);
    uint64_t have = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (have >= bytes) return QB_OK;
    return qb__fail(QB_NO_SPACE, "%s needs %.1f MB, %s has %.1f MB free", path, (double)bytes / 1e6, folder,
                    (double)have / 1e6);
}

qb_status qb__fail_writing(int error, const char *path) {
    if (error == EFBIG) return qb__fail(QB_NO_SPACE, "writing %s: files here may not be that large", path);
    return qb__fail_errno(error, "writing", path);
}

qb_status qb__pwrite_all(int fd, const char *path, const void *data, size_t bytes, uint64_t offset) {
    const char *from = data;
    for (size_t done = 0; done < bytes;) {
        size_t left = bytes - done, most = (size_t)1 << 30;
        ssize_t put = pwrite(fd, from + done, left < most ? left : most, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return qb__fail_writing(errno, path);
        done += (size_t)put;
    }
    return QB_OK;
}

qb_status qb__flush_names(const char *folder, const char *path) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) return QB_OK;
    if (fd < 0) return qb__fail_errno(errno, "giving its name to", path);
    qb_status status = QB_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
        status = qb__fail_errno(errno, "giving its name to", path);
    close(fd);
    return status;
}

void qb__start_writeback(int fd, uint64_t offset, size_t bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
    sync_file_range(fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd, (void)offset, (void)bytes;
#endif
}

qb_status qb__write_fresh(const char *fresh, const char *path, const void *data, size_t bytes) {
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", path);
    qb_status status = qb__pwrite_all(fd, path, data, bytes, 0);
    if (status == QB_OK && fsync(fd) != 0) status = qb__fail_errno(errno, "writing", path);
    if (close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", path);
    return status;
}
