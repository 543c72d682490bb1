/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

qb_status qb__hash_for_resume(void) {
    if (qb__hash_known()) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "--resume needs a build with xxhash, which shows whether the data are the same");
}

#ifdef QB_HAVE_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>

bool qb__hash_known(void) { return true; }

uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed) { return XXH3_64bits_withSeed(data, bytes, seed); }

static qb_status hash_all(int fd, const char *path, uint64_t *hash) {
    enum { PIECE = 256 << 10 };
    XXH3_state_t state;
    ssize_t got = 0;
    char *piece;
    qb_status status = qb__alloc(PIECE, 1, &piece);
    if (status != QB_OK) return status;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    while ((got = read(fd, piece, PIECE)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0) XXH3_64bits_update(&state, piece, (size_t)got);
    if (got < 0) status = qb__fail_errno(errno, "reading", path);
    *hash = XXH3_64bits_digest(&state);
    qb__free(piece);
    return status;
}

qb_status qb__hash_file(const char *path, uint64_t *hash) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = hash_all(fd, path, hash);
    close(fd);
    return status;
}
#else
bool qb__hash_known(void) { return false; }

uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed) {
    (void)data, (void)bytes, (void)seed;
    return 0;
}

qb_status qb__hash_file(const char *path, uint64_t *hash) {
    *hash = 0;
    return qb__fail(QB_UNSUPPORTED, "%s: this build knows no hashes", path);
}
#endif
