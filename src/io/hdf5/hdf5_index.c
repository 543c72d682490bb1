/* SPDX-License-Identifier: MIT */
/* The index of a dataset's chunks, written as in the HDF5 File Format Specification 3.0: a tree of nodes "TREE"
 * (III.A.1, version 1) after the chunks, to which the dataset's layout message (IV.A.2.i, version 3) and the superblock
 * (II.A, version 0) then point. HDF5 itself can append chunks only in one thread, and leaves no readable file if it is
 * killed. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_own.h"
#include "io/hdf5/hdf5_places.h"
#include "io/publish/paths.h"

enum {
    RANK = 3,
    CHILDREN = 64, /* children of a node: twice the superblock's K, which is 32 by default */
    KEY = 4 + 4 + 8 * (RANK + 1),
    NODE = 24 + 8 * CHILDREN + KEY * (CHILDREN + 1),
    LEVELS_MOST = 12,
    END_AT = 40, /* offset in the superblock of the end of the file */
    LAYOUT = 8,
    MORE = 16, /* types of header messages: layout, continuation */
};

static void put(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i);
}

uint64_t qb__h5_word(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | from[i];
    return value;
}

static qb_status unknown(const char *path, const char *what) {
    return qb__fail(QB_UNSUPPORTED,
                    "%s: this version of the HDF5 library makes %s that cannot take compressed chunks here", path,
                    what);
}

/* ---- the dataset's header ---- */

uint64_t qb__h5_header(hid_t set) {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info1_t about;
    return H5Oget_info1(set, &about) < 0 ? HADDR_UNDEF : about.addr;
#else
    H5O_info_t about;
    return H5Oget_info(set, &about) < 0 ? HADDR_UNDEF : about.addr;
#endif
}

/* Find the address of the chunks' index in the header. */
static qb_status find_layout(int fd, const char *path, uint64_t header, int rank, uint64_t *at) {
    enum { PREFIX = 16, MESSAGE = 8, BYTES_MOST = 1 << 16, BLOCKS_MOST = 8 };
    unsigned char start[PREFIX], *block = NULL;
    uint64_t from = header + PREFIX;
    qb_status status;
    *at = 0;
    QB__TRY(qb__pread_all(fd, path, start, sizeof start, header));
    QB__TRY(qb__alloc(BYTES_MOST, 1, &block));
    size_t length = qb__h5_word(start + 8, 4);
    if (start[0] != 1) length = 0;
    for (int n = 0; n < BLOCKS_MOST && length > 0 && length <= BYTES_MOST && !*at; n++) {
        QB__TRY(qb__pread_all(fd, path, block, length, from));
        uint64_t next = 0, next_length = 0;
        for (size_t i = 0; i + MESSAGE <= length;) {
            const unsigned kind = (unsigned)qb__h5_word(block + i, 2);
            const size_t bytes = qb__h5_word(block + i + 2, 2);
            const unsigned char *data = block + i + MESSAGE;
            if (i + MESSAGE + bytes > length) break;
            if (kind == LAYOUT && bytes >= 11 && data[0] == 3 && data[1] == 2 && data[2] == rank + 1)
                *at = from + i + MESSAGE + 3;
            if (kind == MORE && bytes >= 16) next = qb__h5_word(data, 8), next_length = qb__h5_word(data + 8, 8);
            i += MESSAGE + bytes;
        }
        from = next;
        length = (size_t)next_length;
    }
    if (!*at) status = unknown(path, "headers of datasets");
out:
    qb__free(block);
    return status;
}

qb_status qb__h5_index_find(int fd, const char *path, uint64_t header, int rank, uint64_t *at) {
    unsigned char block[END_AT + 8];
    QB__OR_RETURN(qb__pread_all(fd, path, block, sizeof block, 0));
    const bool known = memcmp(block, "\x89HDF\r\n\x1a\n", 8) == 0 && block[8] == 0 && block[13] == 8 &&
                       block[14] == 8 && qb__h5_word(block + 24, 8) == 0;
    return known ? find_layout(fd, path, header, rank, at) : unknown(path, "superblocks");
}

/* ---- the tree ---- */

typedef struct tree {
    int fd;
    const char *path;
    const qb__h5_packed *packed;
    size_t chunks;
    uint64_t level[LEVELS_MOST]; /* start of the nodes of each level */
} tree;

static qb_status place_of(const tree *t, size_t chunk, qb__h5_place *place) {
    return qb__pread_all(t->packed->list, t->path, place, sizeof *place, chunk * sizeof *place);
}

/* Key of a chunk, or with `past` of the position after the last. */
static void put_key(const tree *t, size_t chunk, uint64_t bytes, bool past, unsigned char *to) {
    const qb__h5_packed *p = t->packed;
    const size_t at[RANK] = {chunk / p->across / p->down, chunk / p->across % p->down, chunk % p->across};
    put(to, past ? 0 : bytes, 4);
    put(to + 4, 0, 4);
    for (int i = 0; i < RANK; i++) put(to + 8 + 8 * i, (at[i] + past) * p->chunk[i], 8);
    put(to + 8 + 8 * RANK, 0, 8);
}

/* Node `number` of a level; its children are `stride` chunks apart. */
static qb_status put_node(const tree *t, int level, size_t number, size_t nodes, size_t stride) {
    unsigned char node[NODE] = "TREE";
    const size_t first = number * CHILDREN, all = qb__ceil_div(t->chunks, stride);
    const size_t count = qb__smaller(CHILDREN, all - first);
    const uint64_t from = t->level[level] + number * (uint64_t)NODE;
    unsigned char *to = node + 24;
    qb_status status = QB_OK;
    node[4] = 1;
    node[5] = (unsigned char)level;
    put(node + 6, count, 2);
    put(node + 8, number > 0 ? from - NODE : UINT64_MAX, 8);
    put(node + 16, number + 1 < nodes ? from + NODE : UINT64_MAX, 8);
    for (size_t i = 0; i < count && status == QB_OK; i++, to += KEY + 8) {
        qb__h5_place place;
        status = place_of(t, (first + i) * stride, &place);
        if (status != QB_OK) break;
        put_key(t, (first + i) * stride, place.bytes, false, to);
        put(to + KEY, level ? t->level[level - 1] + (first + i) * (uint64_t)NODE : place.at, 8);
    }
    const size_t next = (first + count) * stride;
    qb__h5_place place = {0};
    if (status == QB_OK && next < t->chunks) status = place_of(t, next, &place);
    put_key(t, next < t->chunks ? next : t->chunks - 1, place.bytes, next >= t->chunks, to);
    return status == QB_OK ? qb__pwrite_all(t->fd, t->path, node, sizeof node, from) : status;
}

qb_status qb__h5_index_put(int fd, const char *path, uint64_t header, const qb__h5_packed *packed) {
    tree t = {.fd = fd, .path = path, .packed = packed, .chunks = qb__h5_packed_chunks(packed)};
    uint64_t end = qb__round_up(packed->tail, 8), at;
    unsigned char word[8];
    size_t nodes = t.chunks, stride = 1;
    int level = 0;
    qb_status status = find_layout(fd, path, header, RANK, &at);
    do {
        nodes = qb__ceil_div(nodes, CHILDREN);
        t.level[level] = end;
        for (size_t i = 0; i < nodes && status == QB_OK; i++) status = put_node(&t, level, i, nodes, stride);
        end += nodes * (uint64_t)NODE;
        stride *= CHILDREN;
        level++;
    } while (nodes > 1 && status == QB_OK && level < LEVELS_MOST);
    put(word, end, 8);
    if (status == QB_OK) status = qb__pwrite_all(fd, path, word, sizeof word, END_AT);
    put(word, t.level[level - 1], 8);
    return status == QB_OK ? qb__pwrite_all(fd, path, word, sizeof word, at) : status;
}
