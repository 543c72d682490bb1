/* SPDX-License-Identifier: MIT */
#include "recon/fbp/fbp_filtered.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/fbp/fbp.h"

/* One chunk of a job. */
typedef struct chunk {
    void *packed;
    size_t bytes;
    size_t views; /* number of views that were filtered; several threads add to it */
    bool ready;   /* an earlier job has filtered all views */
} chunk;

struct qb_tool_filtered {
    size_t most;
    uint64_t rows, key; /* hashes of the caller's text, and of all that the packed rows depend on; 0: nothing is kept */
    size_t count;
    chunk *chunks;
};

qb_status qb_tool_filtered_create(size_t most, qb_tool_filtered **filtered) {
    const qb_status status = qb__alloc(1, sizeof **filtered, filtered);
    if (status == QB_OK) (*filtered)->most = most;
    return status;
}

static void forget(qb_tool_filtered *f) {
    for (size_t i = 0; i < f->count; i++) qb__free(f->chunks[i].packed);
    qb__free(f->chunks);
    f->chunks = NULL;
    f->count = 0;
    f->key = 0;
}

void qb_tool_filtered_destroy(qb_tool_filtered *f) {
    if (!f) return;
    forget(f);
    qb__free(f);
}

void qb__filtered_name(qb_tool_filtered *f, const char *rows) { f->rows = qb__hash(rows, strlen(rows), 1); }

/* Hash of everything on which the packed rows depend. The axis is not a part of it, except by `share` and `roll`. */
static uint64_t key_of(const qb_tool_filtered *f, const qb__fbp *fbp, const qb__cut *cut) {
    const size_t views = fbp->info->views, columns = fbp->info->columns;
    const size_t sizes[] = {f->rows,         views,      columns,           fbp->width,
                            fbp->fan.before, cut->slabs, cut->slices,       cut->all_slices.first,
                            fbp->first_row,  fbp->step,  fbp->options->pad, (size_t)fbp->variant};
    const char *filter = fbp->options->filter ? fbp->options->filter : "";
    uint64_t key = qb__hash(sizes, sizeof sizes, 1);
    key = qb__hash(filter, strlen(filter), key);
    key = qb__hash(fbp->weights, views * sizeof *fbp->weights, key);
    if (fbp->share) key = qb__hash(fbp->share, columns * sizeof *fbp->share, key);
    if (fbp->view_share) key = qb__hash(fbp->view_share, views * columns * sizeof *fbp->view_share, key);
    return qb__hash(fbp->roll.map, fbp->roll.maps * sizeof *fbp->roll.map, key);
}

/* True if the memory of the job before fits. New memory from the system would take longer than filtering. */
static bool has_room(const qb_tool_filtered *f, size_t count, size_t bytes, size_t last) {
    return f->count == count && f->chunks[0].bytes == (count > 1 ? bytes : last) && f->chunks[count - 1].bytes == last;
}

static qb_status make_room(qb_tool_filtered *f, size_t count, size_t bytes, size_t last) {
    qb_status status = QB_OK;
    if (has_room(f, count, bytes, last)) return QB_OK;
    forget(f);
    if (last > f->most || (count - 1) > (f->most - last) / bytes) return QB_OK;
    status = qb__alloc(count, sizeof *f->chunks, &f->chunks);
    for (; status == QB_OK && f->count < count; f->count++) {
        chunk *c = &f->chunks[f->count];
        c->bytes = f->count + 1 < count ? bytes : last;
        status = qb__alloc(c->bytes, 1, &c->packed);
    }
    return status;
}

void qb__filtered_begin(qb_tool_filtered *f, const qb__fbp *fbp, const qb__cut *cut, size_t bytes, size_t last) {
    const uint64_t key = qb__hash_known() && !cut->grid ? key_of(f, fbp, cut) : 0;
    if (!key || (key != f->key && make_room(f, cut->slabs, bytes, last) != QB_OK)) forget(f);
    for (size_t i = 0; i < f->count; i++) {
        chunk *c = &f->chunks[i];
        c->ready = key == f->key && c->views == fbp->info->views;
        if (!c->ready) c->views = 0;
    }
    f->key = key;
}

void *qb__filtered_rows(const qb_tool_filtered *f, size_t number, bool *ready) {
    *ready = f && f->count && f->chunks[number].ready;
    return f && f->count ? f->chunks[number].packed : NULL;
}

void qb__filtered_add(qb_tool_filtered *f, size_t number, size_t views) {
    if (f && f->count) __atomic_add_fetch(&f->chunks[number].views, views, __ATOMIC_RELAXED);
}
