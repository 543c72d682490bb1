/* SPDX-License-Identifier: MIT */
#include "base/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"

/* The collector belongs to the thread, like the error detail, so that readers need no extra argument. */
static _Thread_local qb__inputs *collecting;

void qb__inputs_begin(qb__inputs *inputs) {
    inputs->outer = collecting;
    collecting = inputs;
}

static int compare(const void *a, const void *b) {
    const qb__input *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

void qb__inputs_end(qb__inputs *inputs) {
    collecting = inputs->outer;
    inputs->outer = NULL;
    if (inputs->count) qsort(inputs->file, inputs->count, sizeof *inputs->file, compare);
}

void qb__inputs_release(qb__inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) qb__free(inputs->file[i].path);
    qb__free(inputs->file);
    *inputs = (qb__inputs){0};
}

static bool make_room(qb__inputs *inputs) {
    if (inputs->count < inputs->room) return true;
    qb__input *wider;
    size_t room = inputs->room * 2 + 8;
    if (qb__alloc(room, sizeof *wider, &wider) != QB_OK) return false;
    if (inputs->count) memcpy(wider, inputs->file, inputs->count * sizeof *wider);
    qb__free(inputs->file);
    inputs->file = wider;
    inputs->room = room;
    return true;
}

static void add(qb__inputs *inputs, const qb__input *seen) {
    /* A reader often checks the same file several times in a row. */
    if (inputs->count && compare(&inputs->file[inputs->count - 1], seen) == 0) return;
    qb__input own = *seen;
    own.path = make_room(inputs) ? qb__strdup(seen->path) : NULL;
    if (own.path)
        inputs->file[inputs->count++] = own;
    else
        inputs->lost = true;
}

static void add_seen(const char *path, const struct stat *about, bool advice) {
    const qb__input seen = {.device = about->st_dev,
                            .inode = about->st_ino,
                            .path = (char *)path,
                            .bytes = (uint64_t)about->st_size,
                            .advice = advice};
    for (qb__inputs *inputs = collecting; inputs; inputs = inputs->outer) add(inputs, &seen);
}

void qb__input_seen(const char *path, const struct stat *about) { add_seen(path, about, false); }
void qb__input_advice(const char *path, const struct stat *about) { add_seen(path, about, true); }

void qb__input_read(const char *path, const void *data, size_t bytes) {
    if (!collecting || !qb__hash_known()) return;
    const uint64_t hash = qb__hash(data, bytes, 0);
    for (qb__inputs *inputs = collecting; inputs; inputs = inputs->outer) {
        for (size_t i = inputs->count; i-- > 0;) {
            qb__input *file = &inputs->file[i];
            if (strcmp(file->path, path) != 0 || file->bytes != bytes) continue;
            file->hash = hash;
            file->hashed = true;
            break;
        }
    }
}

static void tell_hash(const qb__input *seen, uint64_t hash) {
    for (qb__inputs *outer = collecting; outer; outer = outer->outer)
        for (size_t i = 0; i < outer->count; i++)
            if (compare(&outer->file[i], seen) == 0) outer->file[i].hash = hash, outer->file[i].hashed = true;
}

qb_status qb__inputs_hash(const qb__inputs *inputs, uint64_t most) {
    uint64_t bytes = 0, hash;
    qb_status status = QB_OK;
    for (size_t i = 0; i < inputs->count; i++) bytes += inputs->file[i].bytes;
    if (!qb__hash_known() || bytes > most) return QB_OK;
    for (size_t i = 0; status == QB_OK && i < inputs->count; i++) {
        const qb__input *file = &inputs->file[i];
        if (i > 0 && compare(file, file - 1) == 0) continue;
        status = qb__hash_file(file->path, &hash);
        if (status == QB_OK) tell_hash(file, hash);
    }
    return status;
}

static const qb__input *find(const qb__inputs *inputs, const qb__input *key) {
    const qb__input *found = inputs->count ? bsearch(key, inputs->file, inputs->count, sizeof *key, compare) : NULL;
    for (int i = 0; !found && i < 2; i++)
        if (inputs->also[i]) found = find(inputs->also[i], key);
    return found;
}

static bool whole(const qb__inputs *inputs) {
    for (int i = 0; i < 2; i++)
        if (inputs->also[i] && !whole(inputs->also[i])) return false;
    return !inputs->lost;
}

qb_status qb__inputs_protect(const qb__inputs *inputs, const char *path) {
    struct stat about;
    if (!whole(inputs)) return qb__fail(QB_NO_MEMORY, "no memory for the names of input files");
    if (stat(path, &about) != 0) return QB_OK; /* a missing file is no input */
    const qb__input key = {.device = about.st_dev, .inode = about.st_ino}, *found = find(inputs, &key);
    if (!found) return QB_OK;
    if (strcmp(found->path, path) == 0)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s is read in this run: writing it would overwrite the input; give the "
                        "output another name",
                        path);
    return qb__fail(QB_BAD_ARGUMENT,
                    "writing %s would overwrite the input %s, which is the same file: give the "
                    "output another name",
                    path, found->path);
}

qb_status qb__inputs_protect_all(const qb__inputs *inputs, const qb_env *env) {
    qb_status status = QB_OK;
    for (const qb_sidecar *file = env ? env->writes : NULL; status == QB_OK && file && file->path; file++)
        status = qb__inputs_protect(inputs, file->path);
    return status;
}
