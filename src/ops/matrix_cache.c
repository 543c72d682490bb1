/* SPDX-License-Identifier: MIT */
#include "ops/system_matrix.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/status.h"
#include "base/trust.h"
#include "io/publish/paths.h"
#include "io/publish/publication.h"
#include "io/plain/source.h"

enum { NAME_ROOM = 4096 };

typedef struct head {
    char magic[16];
    uint64_t key, kind, views, columns, taps, voxels, bytes; /* bytes: size of the file */
    uint64_t hash;                                           /* hash of everything after the header */
} head;
static const char magic[16] = "qb matrix 1\n";

/* The arrays of columns, in the order of the file. */
typedef struct part {
    void *data;
    size_t bytes;
} part;
enum { PARTS = 3 };

static void parts_of(const qb__system_matrix *m, size_t count, part pieces[PARTS]) {
    const size_t entries = m->footprints.taps * m->footprints.stride;
    pieces[0].data = m->first, pieces[0].bytes = count * m->footprints.stride * sizeof *m->first;
    pieces[1].data = m->scale, pieces[1].bytes = count * sizeof *m->scale;
    pieces[2].data = m->kind == QB_MATRIX_BYTES ? (void *)m->bytes : (void *)m->floats;
    pieces[2].bytes = count * entries * (m->kind == QB_MATRIX_BYTES ? 1 : sizeof *m->floats);
}

/* Everything that columns depend on: the footprints and the voxels. */
static uint64_t key_of(const qb__system_matrix *m, const uint32_t *pixels, size_t count) {
    const uint64_t sizes[] = {
        m->footprints.views, m->footprints.stride, m->footprints.columns, m->footprints.taps, m->nx, m->ny, m->kind};
    uint64_t key = qb__hash(sizes, sizeof sizes, 1);
    if (m->footprints.c0) key = qb__hash(&m->footprints.per_radian, sizeof m->footprints.per_radian, key);
    key = qb__hash(&m->footprints.area, sizeof m->footprints.area, key);
    key = qb__hash(m->rays, qb__system_matrix_rays(m) * m->footprints.stride * sizeof *m->rays, key);
    return qb__hash(pixels, count * sizeof *pixels, key);
}

/* The header for columns that need not exist yet: everything except their hash. */
static head head_of(const qb__system_matrix *m, const uint32_t *pixels, size_t count) {
    head h = {.key = key_of(m, pixels, count),
              .kind = m->kind,
              .views = m->footprints.views,
              .columns = m->footprints.columns,
              .taps = m->footprints.taps,
              .voxels = count};
    part pieces[PARTS];
    memcpy(h.magic, magic, sizeof magic);
    parts_of(m, count, pieces);
    h.bytes = sizeof h;
    for (int i = 0; i < PARTS; i++) h.bytes += pieces[i].bytes;
    return h;
}

static bool name_of(const qb__system_matrix *m, uint64_t key, char name[NAME_ROOM]) {
    const int n = snprintf(name, NAME_ROOM, "%s/mbir-%016llx.matrix", m->cache, (unsigned long long)key);
    return n > 0 && n < NAME_ROOM;
}

static void tell(qb__system_matrix *m, const char *name, const char *what) {
    snprintf(m->cache_told, sizeof m->cache_told, "%.200s %.150s", name, what);
}

/* ---- reading ---- */

/* Kernels use these numbers without checks: each footprint must lie within the padded row of data. */
static bool is_sound(const qb__system_matrix *m, size_t count) {
    const size_t stride = m->footprints.stride, entries = m->footprints.taps * stride,
                 most = m->footprints.columns + m->footprints.taps;
    for (size_t slot = 0; slot < count; slot++) {
        if (m->kind == QB_MATRIX_BYTES && !(m->scale[slot] >= 0 && isfinite(m->scale[slot]))) return false;
        for (size_t v = 0; v < m->footprints.views; v++)
            if (m->first[slot * stride + v] > most) return false;
        for (size_t i = 0; m->kind == QB_MATRIX_FLOATS && i < entries; i++)
            if (!isfinite(m->floats[slot * entries + i])) return false;
    }
    return true;
}

/* NULL: the file is complete and unchanged. */
static const char *read_file(const qb__system_matrix *m, int fd, const char *name, const head *want, size_t count) {
    static const char truncated[] = "is cut short: the system matrix is computed again";
    struct stat about;
    part pieces[PARTS];
    head h;
    uint64_t at = sizeof h, hash = 0;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return "is no file: the system matrix is computed";
    if (qb__distrust(&about))
        return "is not taken, since others may have written it: the system matrix is computed again";
    if ((uint64_t)about.st_size < sizeof h || qb__pread_all(fd, name, &h, sizeof h, 0) != QB_OK) return truncated;
    if (memcmp(h.magic, want->magic, offsetof(head, bytes)) != 0)
        return "is of another geometry: the system matrix is computed again";
    if (h.bytes != want->bytes || (uint64_t)about.st_size != h.bytes) return truncated;
    parts_of(m, count, pieces);
    for (int i = 0; i < PARTS; i++) {
        if (qb__pread_all(fd, name, pieces[i].data, pieces[i].bytes, at) != QB_OK)
            return "cannot be read: the system matrix is computed";
        hash = qb__hash(pieces[i].data, pieces[i].bytes, hash);
        at += pieces[i].bytes;
    }
    return hash == h.hash && is_sound(m, count) ? NULL : "is damaged: the system matrix is computed again";
}

/* NULL: only this user can write to the folder, or it does not exist yet. */
static const char *whose(const char *folder) {
    struct stat about;
    return stat(folder, &about) == 0 && S_ISDIR(about.st_mode) ? qb__distrust(&about) : NULL;
}

static qb_status read_from(qb__system_matrix *m, const uint32_t *pixels, size_t count) {
    const head want = head_of(m, pixels, count);
    char name[NAME_ROOM];
    if (!qb__hash_known())
        return qb__fail(QB_UNSUPPORTED,
                        "this build has no xxhash, by which a kept matrix is known: leave --matrix-cache out");
    if (!name_of(m, want.key, name))
        return qb__fail(QB_BAD_ARGUMENT, "--matrix-cache %.60s... is too long a name", m->cache);
    const char *why = whose(m->cache);
    if (why) {
        snprintf(m->cache_told, sizeof m->cache_told, "no matrix is kept in %.200s: %.150s", m->cache, why);
        m->cache = NULL;
        return QB_OK;
    }
    qb__recover(m->cache, true,
                NULL); /* a run that finds its matrix does not write one: remove what a killed run has left */
    const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return QB_OK;
    why = read_file(m, fd, name, &want, count);
    close(fd);
    if (why) tell(m, name, why);
    m->cached = !why;
    return QB_OK;
}

/* ---- writing ---- */

static qb_status put(int fd, const char *name, const head *h, const part pieces[PARTS]) {
    uint64_t at = sizeof *h;
    qb_status status = qb__pwrite_all(fd, name, h, sizeof *h, 0);
    for (int i = 0; i < PARTS && status == QB_OK; i++) {
        status = qb__pwrite_all(fd, name, pieces[i].data, pieces[i].bytes, at);
        at += pieces[i].bytes;
    }
    return status;
}

static qb_status write_fresh(const char *fresh, const char *name, const head *h, const part pieces[PARTS]) {
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    qb_status status = fd < 0 ? qb__fail_errno(errno, "creating", name) : put(fd, name, h, pieces);
    if (status == QB_OK && fsync(fd) != 0) status = qb__fail_errno(errno, "writing", name);
    if (fd >= 0 && close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", name);
    return status;
}

/* Written as every output: it gets its name when it is complete, and the next run removes what a killed run has
 * left. */
static qb_status publish(const char *name, const head *h, const part pieces[PARTS]) {
    qb__publication *set;
    const char *fresh;
    QB__OR_RETURN(qb__publication_create(NULL, &set));
    qb_status status = qb__publication_file(set, name, &fresh);
    if (status == QB_OK) status = write_fresh(fresh, name, h, pieces);
    if (status == QB_OK) return qb__publication_commit(set);
    qb__publication_abort(set);
    return status;
}

static void write_to(qb__system_matrix *m, const uint32_t *pixels, size_t count) {
    head h = head_of(m, pixels, count);
    char name[NAME_ROOM], why[150];
    part pieces[PARTS];
    parts_of(m, count, pieces);
    for (int i = 0; i < PARTS; i++) h.hash = qb__hash(pieces[i].data, pieces[i].bytes, h.hash);
    if (!name_of(m, h.key, name)) return;
    if (mkdir(m->cache, 0755) != 0 && errno != EEXIST) {
        snprintf(why, sizeof why, "is not written: the folder cannot be made: %s", strerror(errno));
        tell(m, name, why);
    } else if (publish(name, &h, pieces) != QB_OK) {
        snprintf(why, sizeof why, "is not written: %.120s", qb_detail());
        tell(m, name, why);
    }
}

qb_status qb__matrix_keep(qb__system_matrix *m, qb_mbir_matrix kind, const uint32_t *pixels, size_t count,
                          qb__pool *pool) {
    if (kind == QB_MATRIX_FLY) return QB_OK;
    qb_status status = qb__system_matrix_room(m, kind, pixels, count);
    if (status == QB_OK && m->cache) status = read_from(m, pixels, count);
    if (status != QB_OK || m->cached) return status;
    status = qb__system_matrix_fill(m, pixels, count, pool);
    if (status == QB_OK && m->cache) write_to(m, pixels, count);
    return status;
}
