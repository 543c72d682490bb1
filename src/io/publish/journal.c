/* SPDX-License-Identifier: MIT */
#include "io/publish/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"

enum { WORD = 16, JOB_MOST = 1 << 20 };
static const char magic[WORD] = "qb images 1\n";

typedef struct head {
    char magic[WORD];
    uint64_t bytes, hash; /* size and hash of the job's text, which follows */
} head;

typedef struct record {
    uint64_t first, end; /* images */
    uint64_t hash;       /* hash of the two numbers and their position */
} record;

static uint64_t hash_of(const record *r, uint64_t at) { return qb__hash(r, offsetof(record, hash), at); }

/* True if the process that writes there is alive. On a file system without locks this is unknown. */
static bool is_taken(int fd) { return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

static qb_status at_work(const char *path) {
    return qb__fail(
        QB_BAD_ARGUMENT,
        "what is kept of %s cannot be locked: another run that writes it is at work; wait for it, or give another -o",
        path);
}

static qb_status damaged(const char *staging, const char *how) {
    return qb__fail(QB_BAD_INPUT, "%s %s: remove it to start again", staging, how);
}

/* ---- reading ---- */

typedef struct reading {
    int fd;
    const char *staging, *path;
    uint64_t bytes;
} reading;

static qb_status get(const reading *r, void *data, size_t bytes, uint64_t at) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(r->fd, (char *)data + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return qb__fail_errno(errno, "reading", r->staging);
        if (n == 0) return damaged(r->staging, "ends too early");
        done += (size_t)n;
    }
    return QB_OK;
}

/* Read the job; *job is NULL if the file was cut off while its head was written. */
static qb_status read_job(const reading *r, char **job) {
    head h;
    *job = NULL;
    if (r->bytes < sizeof h) return QB_OK;
    QB__OR_RETURN(get(r, &h, sizeof h, 0));
    if (memcmp(h.magic, magic, WORD) != 0 || h.bytes > JOB_MOST)
        return damaged(r->staging, "is not of this job, or of another version");
    if (r->bytes - sizeof h < h.bytes) return QB_OK;
    qb_status status = qb__alloc(h.bytes + 1, 1, job);
    if (status == QB_OK) status = get(r, *job, h.bytes, sizeof h);
    if (status == QB_OK && qb__hash(*job, h.bytes, 0) != h.hash)
        status = damaged(r->staging, "is damaged: its checksum is wrong");
    return status;
}

/* Read whole records; an incomplete last one is removed. */
static qb_status read_records(const reading *r, uint64_t at, size_t images, unsigned char *done) {
    record one;
    qb_status status = QB_OK;
    for (; status == QB_OK && r->bytes - at >= sizeof one; at += sizeof one) {
        status = get(r, &one, sizeof one, at);
        if (status != QB_OK) break;
        if (one.hash != hash_of(&one, at)) return damaged(r->staging, "is damaged: its checksum is wrong");
        for (uint64_t i = one.first; i < one.end && i < images; i++) done[i / 8] |= (unsigned char)(1 << i % 8);
    }
    if (status == QB_OK && at < r->bytes && ftruncate(r->fd, (off_t)at) != 0)
        status = qb__fail_errno(errno, "writing", r->staging);
    return status;
}

static qb_status read_one(const reading *r, size_t images, char **job, unsigned char *done) {
    char *own = NULL;
    qb_status status = read_job(r, &own);
    if (status == QB_OK && !own && ftruncate(r->fd, 0) != 0) status = qb__fail_errno(errno, "writing", r->staging);
    if (status == QB_OK && own && *job && strcmp(own, *job) != 0) status = damaged(r->staging, "holds two jobs");
    if (status == QB_OK && own) status = read_records(r, sizeof(head) + strlen(own), images, done);
    if (status == QB_OK && own && !*job)
        *job = own;
    else
        qb__free(own);
    return status;
}

static qb_status open_one(int folder, const char *name, reading *r) {
    struct stat about;
    r->fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (r->fd < 0) return qb__fail_errno(errno, "opening", r->staging);
    if (fstat(r->fd, &about) != 0 || !S_ISREG(about.st_mode))
        return damaged(r->staging, "holds something that is not a file");
    r->bytes = (uint64_t)about.st_size;
    return is_taken(r->fd) ? at_work(r->path) : QB_OK;
}

qb_status qb__journal_read(const char *staging, const char *path, size_t images, char **job, unsigned char *done) {
    char *folder = qb__join(staging, "done");
    *job = NULL;
    memset(done, 0, images / 8 + 1);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", staging);
    DIR *list = opendir(folder);
    qb_status status = list ? QB_OK : qb__fail_errno(errno, "opening", folder);
    for (struct dirent *entry; status == QB_OK && (entry = readdir(list));) {
        reading r = {.fd = -1, .staging = staging, .path = path};
        if (entry->d_name[0] == '.') continue;
        status = open_one(dirfd(list), entry->d_name, &r);
        if (status == QB_OK) status = read_one(&r, images, job, done);
        if (r.fd >= 0) close(r.fd);
    }
    if (list) closedir(list);
    qb__free(folder);
    if (status == QB_OK) return QB_OK;
    qb__free(*job);
    *job = NULL;
    return status;
}

/* ---- writing ---- */

/* Write the whole head at once, so that it is complete or cut off. */
static qb_status write_job(qb__journal *j, const char *path, const char *job) {
    const size_t bytes = strlen(job);
    char *text;
    QB__OR_RETURN(qb__alloc(sizeof(head) + bytes, 1, &text));
    head h = {.bytes = bytes, .hash = qb__hash(job, bytes, 0)};
    memcpy(h.magic, magic, WORD);
    memcpy(text, &h, sizeof h);
    memcpy(text + sizeof h, job, bytes);
    const qb_status status = qb__pwrite_all(j->fd, path, text, sizeof h + bytes, 0);
    j->at = sizeof h + bytes;
    qb__free(text);
    return status;
}

static qb_status open_file(const char *folder, const char *path, int writer, qb__journal *j) {
    char name[PATH_MAX];
    struct stat about;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) return qb__fail_errno(errno, "creating", folder);
    if ((size_t)snprintf(name, sizeof name, "%s/%d", folder, writer) >= sizeof name)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", path);
    j->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (j->fd < 0 || fstat(j->fd, &about) != 0) return qb__fail_errno(errno, "creating", name);
    j->at = (uint64_t)about.st_size;
    return is_taken(j->fd) ? at_work(path) : QB_OK;
}

qb_status qb__journal_open(const char *staging, const char *path, int writer, const char *job, size_t images,
                           const unsigned char *done, qb__journal *j) {
    char *folder = qb__join(staging, "done");
    qb_status status;
    *j = (qb__journal){.fd = -1, .images = images};
    QB__TRY(folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path));
    QB__TRY(qb__alloc(images / 8 + 1, 1, &j->noted));
    if (done) memcpy(j->noted, done, images / 8 + 1);
    QB__TRY(open_file(folder, path, writer, j));
    if (j->at == 0) QB__TRY(write_job(j, path, job));
    QB__TRY(qb__flush_names(folder, path));
    status = qb__flush_names(staging, path);
out:
    qb__free(folder);
    return status;
}

static bool bit(const unsigned char *bits, size_t i) { return bits[i / 8] >> i % 8 & 1; }

static qb_status write_run(qb__journal *j, const char *path, size_t first, size_t end) {
    record one = {.first = first, .end = end};
    one.hash = hash_of(&one, j->at);
    QB__OR_RETURN(qb__pwrite_all(j->fd, path, &one, sizeof one, j->at));
    j->at += sizeof one;
    for (size_t i = first; i < end; i++) j->noted[i / 8] |= (unsigned char)(1 << i % 8);
    return QB_OK;
}

qb_status qb__journal_note(qb__journal *j, const char *path, const unsigned char *written) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < j->images; i++) {
        const size_t first = i;
        while (i < j->images && bit(written, i) && !bit(j->noted, i)) i++;
        if (i > first) status = write_run(j, path, first, i);
    }
    if (status == QB_OK && fdatasync(j->fd) != 0) status = qb__fail_errno(errno, "writing", path);
    return status;
}

void qb__journal_close(qb__journal *j) {
    if (j->noted && j->fd >= 0) close(j->fd);
    qb__free(j->noted);
    *j = (qb__journal){.fd = -1};
}
