/* SPDX-License-Identifier: MIT */
/* Reads the index of a dataset's chunks as hdf5_index.c writes it: HDF5 File Format Specification 3.0, III.A.1. */
#include "io/hdf5/hdf5_places.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

enum { START = 24, POINTER = 8, CHILDREN_MOST = 4096, LEVELS_MOST = 12 };

typedef struct walk {
    qb__h5_places *places;
    const char *path;
    const size_t *shape, *chunk;
    int rank;
    size_t most, left; /* chunks that were not found yet */
    uint64_t size;     /* of the file */
} walk;

/* A chunk whose key begins at `key`. False: it makes no sense. */
static bool add_chunk(walk *w, const unsigned char *key, uint64_t at) {
    const size_t bytes = (size_t)qb__h5_word(key, 4);
    size_t number[3] = {0};
    for (int i = 3 - w->rank; i < 3; i++) {
        const uint64_t from = qb__h5_word(key + 8 + 8 * (i - 3 + w->rank), 8);
        if (from >= w->shape[i] || from % w->chunk[i]) return false;
        number[i] = (size_t)from / w->chunk[i];
    }
    qb__h5_stored *to = &w->places->stored[(number[0] * w->places->down + number[1]) * w->places->across + number[2]];
    if (to->bytes || !bytes || bytes > w->most || at > w->size || bytes > w->size - at || !w->left) return false;
    *to = (qb__h5_stored){at, (uint32_t)bytes, (uint32_t)qb__h5_word(key + 4, 4)};
    w->left--;
    return true;
}

/* Each node has a child, so their number is bounded by that of the chunks. `level`: of the node above, or negative. */
static bool add_node(walk *w, uint64_t from, int level) {
    const size_t key = 8 + 8 * (w->rank + 1);
    unsigned char start[START], *node = NULL;
    if (from > w->size || qb__pread_all(w->places->fd, w->path, start, START, from) != QB_OK) return false;
    const size_t count = (size_t)qb__h5_word(start + 6, 2);
    const int here = start[5];
    if (memcmp(start, "TREE", 4) != 0 || start[4] != 1 || !count || count > CHILDREN_MOST) return false;
    if (level < 0 ? here > LEVELS_MOST : here != level - 1) return false;
    if (qb__alloc(count, key + POINTER, &node) != QB_OK) return false;
    bool good = qb__pread_all(w->places->fd, w->path, node, count * (key + POINTER), from + START) == QB_OK;
    for (size_t i = 0; i < count && good; i++) {
        const unsigned char *child = node + i * (key + POINTER);
        const uint64_t at = qb__h5_word(child + key, POINTER);
        good = here ? add_node(w, at, here) : add_chunk(w, child, at);
    }
    qb__free(node);
    return good;
}

static bool find_all(walk *w, uint64_t header) {
    unsigned char root[8];
    struct stat about;
    uint64_t at;
    if (fstat(w->places->fd, &about) != 0) return false;
    w->size = (uint64_t)about.st_size;
    if (qb__h5_index_find(w->places->fd, w->path, header, w->rank, &at) != QB_OK) return false;
    if (qb__pread_all(w->places->fd, w->path, root, sizeof root, at) != QB_OK) return false;
    return add_node(w, qb__h5_word(root, 8), -1) && !w->left;
}

void qb__h5_places_find(hid_t set, int rank, const size_t shape[3], const size_t chunk[3], size_t most,
                        qb__h5_places *places) {
    char file[4096];
    const uint64_t header = qb__h5_header(set);
    *places = (qb__h5_places){.fd = -1};
    places->down = qb__ceil_div(shape[1], chunk[1]);
    places->across = qb__ceil_div(shape[2], chunk[2]);
    walk w = {.places = places, .path = file, .shape = shape, .chunk = chunk, .rank = rank, .most = most};
    w.left = qb__ceil_div(shape[0], chunk[0]) * places->down * places->across;
    if (header == HADDR_UNDEF || H5Fget_name(set, file, sizeof file) < 0) return;
    places->fd = open(file, O_RDONLY | O_CLOEXEC);
    if (places->fd < 0) return;
    if (qb__alloc(w.left, sizeof *places->stored, &places->stored) == QB_OK && find_all(&w, header)) return;
    qb__h5_places_release(places);
}

void qb__h5_places_release(qb__h5_places *places) {
    if (places->fd >= 0) close(places->fd);
    qb__free(places->stored);
    *places = (qb__h5_places){.fd = -1};
}
