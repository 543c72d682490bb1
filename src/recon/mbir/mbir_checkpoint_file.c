/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/trust.h"
#include "io/publish/paths.h"
#include "job/job.h"

enum { JOB_MOST = 1 << 20, WORD = 16 };
static const char magic[WORD] = "qb descent 4\n";

typedef struct head {
    char magic[WORD];
    uint64_t bytes; /* size of the file */
    uint64_t hash;  /* hash of everything after the head */
    uint64_t job;   /* bytes of the job's JSON */
    uint64_t turns;
    char stopped[WORD]; /* reason why the slab stopped; "": it was still running */
} head;

/* A file that is read or written in parts, with a hash of them. */
typedef struct stream {
    int fd;
    const char *path;
    uint64_t at, bytes, hash; /* bytes: size of the file being read */
} stream;

static qb_status put(void *self, void *data, size_t bytes) {
    stream *s = self;
    qb_status status = qb__pwrite_all(s->fd, s->path, data, bytes, s->at);
    s->at += bytes;
    s->hash = qb__hash(data, bytes, s->hash);
    return status;
}

static qb_status damaged(const char *path, const char *how) {
    return qb__fail(QB_BAD_INPUT, "%s %s: remove it to start anew, and what else lies in its folder", path, how);
}

static qb_status get(void *self, void *data, size_t bytes) {
    stream *s = self;
    if (bytes > s->bytes - s->at) return damaged(s->path, "ends too early");
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(s->fd, (char *)data + done, bytes - done, (off_t)(s->at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return qb__fail_errno(errno, "reading", s->path);
        if (n == 0) return damaged(s->path, "ends too early");
        done += (size_t)n;
    }
    s->at += bytes;
    s->hash = qb__hash(data, bytes, s->hash);
    return QB_OK;
}

static qb_status pass_state(const qb__checkpoint_slab *slab, bool into, qb__icd_piece piece, void *to) {
    return slab->state ? slab->state->pass(slab->state->self, into, piece, to)
                       : qb__icd_stack_state(slab->stack, into, piece, to);
}

/* ---- check of the job ---- */

static qb_status check_job(stream *s, const head *h, const char *job) {
    char *then;
    QB__OR_RETURN(qb__alloc(h->job + 1, 1, &then));
    qb_status status = get(s, then, h->job);
    if (status == QB_OK && strcmp(then, job) != 0) status = qb__job_fingerprint_mismatch(s->path, then, job);
    qb__free(then);
    return status;
}

/* ---- reading ---- */

bool qb__checkpoint_is(int folder, const char *name) {
    char word[WORD] = {0};
    struct stat about;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    const bool is = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                    pread(fd, word, sizeof word, 0) == WORD && strncmp(word, magic, strcspn(magic, "0123456789")) == 0;
    if (fd >= 0) close(fd);
    return is;
}

static bool is_head(const head *h, uint64_t bytes) {
    return memcmp(h->magic, magic, WORD) == 0 && memchr(h->stopped, 0, WORD) && h->bytes >= sizeof *h &&
           bytes >= sizeof *h && h->job <= JOB_MOST;
}

/* Open a file and read it up to the end of the job's text. */
static qb_status open_file(const char *path, const qb__checkpoint_slab *slab, stream *s, head *h) {
    struct stat about;
    *s = (stream){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .path = path};
    if (s->fd < 0) return qb__fail_errno(errno, "opening", path);
    if (fstat(s->fd, &about) != 0 || !S_ISREG(about.st_mode)) return damaged(path, "is no file");
    if (qb__distrust(&about)) return qb__fail(QB_BAD_INPUT, "%s cannot be resumed: %s", path, qb__distrust(&about));
    s->bytes = (uint64_t)about.st_size;
    if (s->bytes < sizeof *h) return damaged(path, "ends too early");
    QB__OR_RETURN(get(s, h, sizeof *h));
    if (!is_head(h, s->bytes)) return damaged(path, "is no checkpoint of this version");
    if (h->bytes != s->bytes)
        return damaged(path, h->bytes > s->bytes ? "ends too early" : "is longer than it should be");
    s->hash = 0;
    qb_status status = check_job(s, h, slab->job);
    if (status == QB_OK && h->turns > (uint64_t)slab->most) status = damaged(path, "holds more turns than there are");
    return status;
}

qb_status qb__checkpoint_peek(const char *path, const qb__checkpoint_slab *slab, qb__checkpoint_found *found,
                              int *turns) {
    stream s;
    head h;
    qb_status status = open_file(path, slab, &s, &h);
    if (s.fd >= 0) close(s.fd);
    if (status != QB_OK) return status;
    *found = h.stopped[0] ? QB__FOUND_DONE : QB__FOUND_TURNING;
    *turns = (int)h.turns;
    return status;
}

static const char *reason(const char *stopped) {
    static const char *const known[] = {"equits", "tolerance", "watch"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(stopped, known[i]) == 0) return known[i];
    return "early";
}

qb_status qb__checkpoint_read(const char *path, qb__checkpoint_slab *slab) {
    stream s;
    head h;
    qb_status status;
    QB__TRY(open_file(path, slab, &s, &h));
    slab->turns = (int)h.turns;
    QB__TRY(get(&s, slab->trace, (size_t)h.turns * sizeof *slab->trace));
    if (slab->images) {
        slab->stopped = reason(h.stopped);
        QB__TRY(get(&s, slab->images, slab->slices * slab->image * sizeof(float)));
    } else {
        if (slab->state) *slab->state->iterations = slab->turns;
        QB__TRY(pass_state(slab, true, get, &s));
    }
    if (s.at != s.bytes) status = damaged(path, "is longer than it should be");
    if (status == QB_OK && s.hash != h.hash) status = damaged(path, "is damaged: its checksum is another");
out:
    if (s.fd >= 0) close(s.fd);
    return status;
}

/* ---- writing ---- */

static qb_status fill(stream *s, head *h, const qb__checkpoint_slab *slab) {
    qb_status status;
    s->at = sizeof *h;
    QB__TRY(put(s, (char *)slab->job, h->job));
    QB__TRY(put(s, slab->trace, (size_t)slab->turns * sizeof *slab->trace));
    if (slab->images)
        QB__TRY(put(s, slab->images, slab->slices * slab->image * sizeof(float)));
    else
        QB__TRY(pass_state(slab, false, put, s));
    h->bytes = s->at;
    h->hash = s->hash;
    QB__TRY(qb__pwrite_all(s->fd, s->path, h, sizeof *h, 0));
    if (fsync(s->fd) != 0) status = qb__fail_errno(errno, "writing", s->path);
out:
    return status;
}

qb_status qb__checkpoint_write(const char *fresh, const char *path, const qb__checkpoint_slab *slab) {
    head h = {.job = strlen(slab->job), .turns = (uint64_t)slab->turns};
    stream s = {.fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), .path = path};
    if (s.fd < 0) return qb__fail_errno(errno, "creating", path);
    memcpy(h.magic, magic, WORD);
    snprintf(h.stopped, sizeof h.stopped, "%s", slab->images ? slab->stopped : "");
    qb_status status = fill(&s, &h, slab);
    if (close(s.fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", path);
    return status;
}
