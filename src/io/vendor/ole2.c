/* SPDX-License-Identifier: MIT */
#include "io/vendor/ole2.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

enum { HEADER = 512, ENTRY = 128, IN_HEADER = 109, MINI_CUTOFF = 4096, MINI_SHIFT = 6 };
#define LAST_REAL 0xfffffff9U /* larger sector numbers are marks: free, end of a chain, a table */
#define END_OF_CHAIN 0xfffffffeU

/* The table with the next sector of each sector. */
typedef struct table {
    uint32_t *next;
    size_t count;
} table;

struct qb__ole2 {
    const char *path;
    int fd;
    uint64_t bytes;
    unsigned shift; /* sectors have 1 << shift bytes */
    size_t sectors; /* sectors that fit into the file */
    table fat, mini;
    qb__ole2_names names;
    qb__extents mini_stream;
};

static uint32_t word(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static qb_status broken(const qb__ole2 *ole, const char *what, uint64_t number) {
    return qb__fail(QB_BAD_INPUT, "%s (%llu bytes) is damaged or incomplete: %s %llu", ole->path,
                    (unsigned long long)ole->bytes, what, (unsigned long long)number);
}

static qb_status read_sector(const qb__ole2 *ole, uint32_t sector, unsigned char *out) {
    const size_t size = (size_t)1 << ole->shift;
    if (sector >= ole->sectors) return broken(ole, "it has no sector", sector);
    return qb__pread_all(ole->fd, ole->path, out, size, (uint64_t)(sector + UINT64_C(1)) << ole->shift);
}

/* ---- tables ---- */

/* Append one sector to a table. */
static qb_status append(const qb__ole2 *ole, uint32_t sector, table *t) {
    unsigned char bytes[4096];
    const qb_status status = read_sector(ole, sector, bytes);
    for (size_t i = 0; status == QB_OK && i < (size_t)1 << ole->shift; i += 4) t->next[t->count++] = word(bytes + i);
    return status;
}

/* Numbers of the FAT's own sectors: 109 in the header, the others in sectors that end with the number of the next. */
static qb_status load_fat(qb__ole2 *ole, const unsigned char *header) {
    const size_t each = ((size_t)1 << ole->shift) / 4;
    const uint32_t wanted = word(header + 44);
    uint32_t next = word(header + 68), found = 0;
    unsigned char bytes[4096];
    if (wanted > ole->sectors) return broken(ole, "its table has more sectors than the file:", wanted);
    qb_status status = qb__alloc((size_t)wanted * each, sizeof *ole->fat.next, &ole->fat.next);
    for (uint32_t i = 0; i < IN_HEADER && found < wanted && status == QB_OK; i++, found++)
        status = append(ole, word(header + 76 + 4 * i), &ole->fat);
    while (found < wanted && status == QB_OK) {
        status = read_sector(ole, next, bytes);
        for (size_t i = 0; i + 1 < each && found < wanted && status == QB_OK; i++, found++)
            status = append(ole, word(bytes + 4 * i), &ole->fat);
        next = word(bytes + 4 * (each - 1));
    }
    return status;
}

/* The sectors of a chain up to its end. */
static qb_status load_chain(const qb__ole2 *ole, uint32_t sector, unsigned char **out, size_t *size) {
    size_t count = 0;
    *out = NULL, *size = 0;
    for (uint32_t at = sector; at <= LAST_REAL; at = ole->fat.next[at])
        if (at >= ole->fat.count || ++count > ole->sectors)
            return broken(ole, "a chain of sectors is broken at sector", at);
    qb_status status = qb__alloc(count, (size_t)1 << ole->shift, out);
    for (size_t i = 0; i < count && status == QB_OK; i++, sector = ole->fat.next[sector])
        status = read_sector(ole, sector, *out + (i << ole->shift));
    *size = count << ole->shift;
    return status;
}

static qb_status load_mini(qb__ole2 *ole, uint32_t first) {
    unsigned char *bytes;
    size_t size;
    qb_status status = load_chain(ole, first, &bytes, &size);
    if (status == QB_OK) status = qb__alloc(size / 4, sizeof *ole->mini.next, &ole->mini.next);
    for (size_t i = 0; status == QB_OK && i < size; i += 4) ole->mini.next[ole->mini.count++] = word(bytes + i);
    qb__free(bytes);
    return status;
}

/* ---- extents ---- */

static qb_status add_extent(qb__extents *to, size_t first, uint64_t at, uint64_t bytes) {
    qb__extent *last = to->count > first ? &to->list[to->count - 1] : NULL;
    if (last && last->at + last->bytes == at) {
        last->bytes += bytes;
        return QB_OK;
    }
    if (to->count == to->room) {
        qb__extent *more;
        const size_t room = 2 * to->room + 16;
        QB__OR_RETURN(qb__alloc(room, sizeof *more, &more));
        if (to->count) memcpy(more, to->list, to->count * sizeof *more);
        qb__free(to->list);
        to->list = more, to->room = room;
    }
    to->list[to->count++] = (qb__extent){at, bytes};
    return QB_OK;
}

/* Position of small sector number `sector`. */
static bool mini_place(const qb__ole2 *ole, uint32_t sector, uint64_t bytes, uint64_t *at) {
    uint64_t from = (uint64_t)sector << MINI_SHIFT;
    for (size_t i = 0; i < ole->mini_stream.count; i++) {
        const qb__extent *e = &ole->mini_stream.list[i];
        if (from < e->bytes) {
            *at = e->at + from;
            return bytes <= e->bytes - from;
        }
        from -= e->bytes;
    }
    return false;
}

/* The chain has as many sectors as the bytes need, so a circle only shows as a wrong length. */
static qb_status follow(const qb__ole2 *ole, uint32_t sector, uint64_t bytes, bool small, qb__extents *to) {
    const table *t = small ? &ole->mini : &ole->fat;
    const uint64_t size = (uint64_t)1 << (small ? MINI_SHIFT : ole->shift);
    const size_t first = to->count;
    if (bytes > ole->bytes) return broken(ole, "a stream of", bytes);
    while (bytes > 0) {
        const uint64_t n = bytes < size ? bytes : size;
        uint64_t at = (sector + UINT64_C(1)) << ole->shift;
        if (sector >= t->count || (small && !mini_place(ole, sector, n, &at)) || n > ole->bytes || at > ole->bytes - n)
            return broken(ole, small ? "a stream leads to small sector" : "a stream leads to sector", sector);
        QB__OR_RETURN(add_extent(to, first, at, n));
        bytes -= n;
        sector = t->next[sector];
    }
    return QB_OK;
}

/* ---- opening ---- */

static qb_status check_header(qb__ole2 *ole, const unsigned char *header) {
    const unsigned major = header[26] | (unsigned)header[27] << 8, mini = header[32] | (unsigned)header[33] << 8;
    ole->shift = header[30] | (unsigned)header[31] << 8;
    if (memcmp(header, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8) != 0)
        return qb__fail(QB_BAD_INPUT, "%s is not a compound file (OLE2), by its first bytes", ole->path);
    if (header[28] != 0xfe || header[29] != 0xff)
        return qb__fail(QB_BAD_INPUT, "%s: its mark of the byte order is wrong: its bytes were exchanged", ole->path);
    if ((major != 3 || ole->shift != 9) && (major != 4 || ole->shift != 12))
        return qb__fail(QB_UNSUPPORTED,
                        "%s: its compound file has version %u and sectors of 2^%u bytes, which is not possible",
                        ole->path, major, ole->shift);
    if (mini != MINI_SHIFT || word(header + 56) != MINI_CUTOFF)
        return qb__fail(
            QB_UNSUPPORTED,
            "%s: its compound file has small sectors of 2^%u bytes for streams below %u bytes, which is not possible",
            ole->path, mini, word(header + 56));
    const uint64_t sectors =
        qb__larger((size_t)(ole->bytes >> ole->shift), 1) - 1 + (ole->bytes % (1U << ole->shift) > 0);
    if (sectors > LAST_REAL) return broken(ole, "too many sectors:", sectors);
    ole->sectors = (size_t)sectors;
    return QB_OK;
}

static qb_status load(qb__ole2 *ole) {
    unsigned char header[HEADER], *folder = NULL;
    size_t size;
    qb_status status;
    QB__TRY(qb__file_size(ole->path, &ole->bytes));
    ole->fd = open(ole->path, O_RDONLY | O_CLOEXEC);
    if (ole->fd < 0) return qb__fail_errno(errno, "opening", ole->path);
    QB__TRY(qb__pread_all(ole->fd, ole->path, header, HEADER, 0));
    QB__TRY(check_header(ole, header));
    QB__TRY(load_fat(ole, header));
    QB__TRY(load_chain(ole, word(header + 48), &folder, &size));
    QB__TRY(qb__ole2_names_load(ole->path, folder, size / ENTRY, ole->shift == 9, &ole->names));
    QB__TRY(load_mini(ole, word(header + 60)));
    QB__TRY(follow(ole, ole->names.root.start, ole->names.root.bytes, false, &ole->mini_stream));
out:
    qb__free(folder);
    return status;
}

qb_status qb__ole2_open(const char *path, qb__ole2 **out) {
    qb__ole2 *ole;
    *out = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *ole, &ole));
    ole->path = path, ole->fd = -1;
    const qb_status status = load(ole);
    if (status == QB_OK)
        *out = ole;
    else
        qb__ole2_close(ole);
    return status;
}

void qb__ole2_close(qb__ole2 *ole) {
    if (!ole) return;
    if (ole->fd >= 0) close(ole->fd);
    QB__FREE(ole->fat.next, ole->mini.next, ole->mini_stream.list);
    qb__ole2_names_release(&ole->names);
    qb__free(ole);
}

/* ---- streams ---- */

bool qb__ole2_find(const qb__ole2 *ole, const char *name, uint64_t *bytes) {
    const qb__ole2_entry *entry = qb__ole2_names_find(&ole->names, name);
    *bytes = entry ? entry->bytes : 0;
    return entry != NULL;
}

qb_status qb__ole2_extents(const qb__ole2 *ole, const char *name, uint64_t bytes, qb__extents *extents) {
    const qb__ole2_entry *entry = qb__ole2_names_find(&ole->names, name);
    if (!entry) return qb__fail(QB_BAD_INPUT, "%s has no stream %s", ole->path, name);
    if (entry->bytes < bytes)
        return qb__fail(QB_BAD_INPUT, "%s: its stream %s has %llu bytes, %llu are needed", ole->path, name,
                        (unsigned long long)entry->bytes, (unsigned long long)bytes);
    const qb_status status = follow(ole, entry->start, bytes, entry->bytes < MINI_CUTOFF, extents);
    return status == QB_OK ? status : qb__fail_in(status, "%s", name);
}

qb_status qb__ole2_read(const qb__ole2 *ole, const char *name, uint64_t bytes, void *out) {
    qb__extents extents = {0};
    qb_status status = qb__ole2_extents(ole, name, bytes, &extents);
    if (status == QB_OK) status = qb__extents_read(ole->fd, ole->path, extents.list, extents.count, 0, bytes, out);
    qb__free(extents.list);
    return status;
}

qb_status qb__extents_read(int fd, const char *path, const qb__extent *list, size_t count, uint64_t from,
                           uint64_t bytes, void *out) {
    char *to = out;
    qb_status status = QB_OK;
    for (size_t i = 0; i < count && bytes > 0 && status == QB_OK; i++) {
        if (from >= list[i].bytes) {
            from -= list[i].bytes;
            continue;
        }
        const uint64_t left = list[i].bytes - from, n = bytes < left ? bytes : left;
        status = qb__pread_all(fd, path, to, (size_t)n, list[i].at + from);
        to += n, bytes -= n, from = 0;
    }
    return status;
}
