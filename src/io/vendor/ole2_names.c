/* SPDX-License-Identifier: MIT */
/* The names in a compound file. The entries of a folder are a binary tree: each has a left and a right neighbour; a
 * folder leads to one of its entries. The whole tree is visited, so that its order does not matter. */
#include "io/vendor/ole2.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { ENTRY = 128, STORAGE = 1, STREAM = 2, ROOT = 5, NAME = 32 };
#define NOBODY 0xffffffffU

/* Entries to be visited. */
typedef struct walk {
    const char *path;
    const unsigned char *raw;
    size_t count;
    struct {
        uint32_t number, folder;
    } * pending; /* [count + 1]: `met` prevents an entry from coming twice */
    size_t waiting;
    unsigned char *met; /* [count] */
} walk;

static uint32_t word(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void parse(const unsigned char *raw, bool version3, qb__ole2_entry *entry) {
    const size_t length = qb__smaller((size_t)(raw[64] | raw[65] << 8) / 2, NAME);
    memset(entry->name, 0, sizeof entry->name);
    for (size_t i = 0; i + 1 < length; i++) {
        const unsigned char low = raw[2 * i], high = raw[2 * i + 1];
        entry->name[i] = (char)(high || low < ' ' || low > '~' || low == '/' ? '?' : tolower(low));
    }
    entry->stream = raw[66] == STREAM;
    entry->start = word(raw + 116);
    entry->bytes = word(raw + 120) | (version3 ? 0 : (uint64_t)word(raw + 124) << 32);
}

static qb_status visit(walk *w, uint32_t number, uint32_t folder) {
    if (number == NOBODY) return QB_OK;
    if (number >= w->count || w->met[number])
        return qb__fail(QB_BAD_INPUT, "%s is damaged or incomplete: its folder leads to entry %u of %zu%s", w->path,
                        number, w->count, number < w->count ? " twice" : "");
    w->met[number] = 1;
    w->pending[w->waiting].number = number;
    w->pending[w->waiting++].folder = folder;
    return QB_OK;
}

static int compare(const void *a, const void *b) {
    const qb__ole2_entry *x = a, *y = b;
    if (x->folder != y->folder) return x->folder < y->folder ? -1 : 1;
    return strcmp(x->name, y->name);
}

static qb_status walk_tree(walk *w, bool version3, qb__ole2_names *names) {
    qb_status status = visit(w, word(w->raw + 76), 0);
    while (w->waiting && status == QB_OK) {
        const uint32_t number = w->pending[--w->waiting].number, folder = w->pending[w->waiting].folder;
        const unsigned char *raw = w->raw + (size_t)number * ENTRY;
        qb__ole2_entry *entry = &names->entry[names->count++];
        parse(raw, version3, entry);
        entry->folder = folder, entry->number = number;
        QB__TRY(visit(w, word(raw + 68), folder));
        QB__TRY(visit(w, word(raw + 72), folder));
        if (raw[66] == STORAGE) QB__TRY(visit(w, word(raw + 76), number));
    }
out:
    return status;
}

qb_status qb__ole2_names_load(const char *path, const unsigned char *raw, size_t count, bool version3,
                              qb__ole2_names *names) {
    walk w = {.path = path, .raw = raw, .count = count};
    qb_status status;
    if (!count || raw[66] != ROOT)
        return qb__fail(QB_BAD_INPUT, "%s is damaged or incomplete: its folder has no root", path);
    parse(raw, version3, &names->root);
    QB__TRY(qb__alloc(count, sizeof *names->entry, &names->entry));
    QB__TRY(qb__alloc(count + 1, sizeof *w.pending, &w.pending));
    QB__TRY(qb__alloc(count, 1, &w.met));
    w.met[0] = 1;
    QB__TRY(walk_tree(&w, version3, names));
    qsort(names->entry, names->count, sizeof *names->entry, compare);
out:
    QB__FREE(w.pending, w.met);
    return status;
}

void qb__ole2_names_release(qb__ole2_names *names) {
    qb__free(names->entry);
    *names = (qb__ole2_names){0};
}

const qb__ole2_entry *qb__ole2_names_find(const qb__ole2_names *names, const char *name) {
    qb__ole2_entry key = {0};
    for (const qb__ole2_entry *found = NULL; names->count;) {
        const size_t length = strcspn(name, "/");
        if (length >= NAME) return NULL;
        memset(key.name, 0, sizeof key.name);
        for (size_t i = 0; i < length; i++) key.name[i] = (char)tolower((unsigned char)name[i]);
        found = bsearch(&key, names->entry, names->count, sizeof *names->entry, compare);
        if (!found || found->stream == (name[length] == '/')) return NULL;
        if (!name[length]) return found;
        key.folder = found->number;
        name += length + 1;
    }
    return NULL;
}
