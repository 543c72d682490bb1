/* SPDX-License-Identifier: MIT */
/* The file `set` in the first of a set's hidden folders: "quickbeam set 1", for each member its kind
 * and how many files it has, its hidden folder and its name, "end"; each a text with a 0 behind it.
 * Folders beside the first one are called by their names, others by their whole path; a member's
 * name is beside its hidden folder. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/exchange.h"
#include "io/publication.h"
#include "io/writer.h"

enum { TEXT_MOST = QB__SET_MOST * (PATH_MAX + 400) + 64 };
static const char head[] = "quickbeam set 1", tail[] = "end";

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool add(char *text, size_t *used, const char *word) {
    size_t n = strlen(word) + 1;
    if (*used + n > TEXT_MOST) return false;
    memcpy(text + *used, word, n);
    *used += n;
    return true;
}

static bool add_member(char *text, size_t *used, const qb__member *first, const qb__member *m) {
    char kind[32], whole[PATH_MAX];
    const char *hidden = m->hidden.folder, *name = last_part(hidden);
    bool beside = name - hidden == last_part(first->hidden.folder) - first->hidden.folder &&
                  strncmp(hidden, first->hidden.folder, (size_t)(name - hidden)) == 0;
    snprintf(kind, sizeof kind, "%c%zu", (char)m->hidden.kind, m->count);
    if (!beside) name = realpath(hidden, whole);
    return name && add(text, used, kind) && add(text, used, name) && add(text, used, last_part(m->hidden.target));
}

qb_status qb__set_write(const qb__member *members, size_t count) {
    const qb__member *first = members;
    size_t used = 0;
    char *text, *name = NULL;
    qb_status status = qb__alloc(TEXT_MOST, 1, &text);
    if (status != QB_OK) return status;
    bool fits = add(text, &used, head);
    for (size_t i = 0; fits && i < count; i++) fits = add_member(text, &used, first, &members[i]);
    fits = fits && add(text, &used, tail);
    name = qb__join(first->hidden.folder, "set");
    if (!name)
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", first->hidden.target);
    else if (!fits)
        status = qb__fail(QB_IO, "%s: too many or too long names to write together", first->hidden.target);
    else
        status = qb__write_fresh(name, first->hidden.target, text, used);
    qb__free(name);
    qb__free(text);
    return status;
}

/* The next text before `end`, or NULL. */
static const char *take(const char **at, const char *end) {
    const char *word = *at, *zero = word < end ? memchr(word, 0, (size_t)(end - word)) : NULL;
    if (!zero) return NULL;
    *at = zero + 1;
    return word;
}

/* Beside the first hidden folder, or where its whole path says. */
static qb_status read_member(const char *folder, const char *kind, const char *hidden, const char *name,
                             qb__member *m) {
    const int beside_first = hidden[0] == '/' ? 0 : (int)(last_part(folder) - folder);
    char path[PATH_MAX], target[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s%s", beside_first, folder, hidden);
    if (n < 0 || (size_t)n >= sizeof path || strchr(name, '/'))
        return qb__fail(QB_BAD_INPUT, "%s: a set of strange names", folder);
    const int beside = (int)(last_part(path) - path);
    n = snprintf(target, sizeof target, "%.*s%s", beside, path, kind[0] == QB__HIDDEN_MEMBERS ? "." : name);
    if (n < 0 || (size_t)n >= sizeof target) return qb__fail(QB_BAD_INPUT, "%s: a set of strange names", folder);
    m->hidden.kind = (qb__hidden_kind)kind[0];
    m->count = strtoull(kind + 1, NULL, 10);
    return qb__hidden_names(path, target, &m->hidden);
}

static qb_status parse(const char *folder, const char *text, size_t bytes, qb__member members[QB__SET_MOST],
                       size_t *count) {
    const char *at = text, *end = text + bytes, *word = take(&at, end);
    size_t n = 0;
    qb_status status = QB_OK;
    *count = 0;
    if (!word || strcmp(word, head) != 0) return QB_OK;
    while (status == QB_OK && (word = take(&at, end)) && strcmp(word, tail) != 0) {
        const char *hidden = take(&at, end), *name = take(&at, end);
        if (n == QB__SET_MOST || !hidden || !name || !strchr("fdm", word[0])) break;
        status = read_member(folder, word, hidden, name, &members[n++]);
    }
    if (status == QB_OK && word && strcmp(word, tail) == 0) {
        *count = n;
        return QB_OK;
    }
    while (n > 0) qb__member_release(&members[--n]);
    return status;
}

qb_status qb__set_read(const char *folder, qb__member members[QB__SET_MOST], size_t *count) {
    for (size_t i = 0; i < QB__SET_MOST; i++) members[i] = (qb__member){.hidden.lock = -1};
    char *name = qb__join(folder, "set"), *text = NULL;
    uint64_t bytes = 0;
    *count = 0;
    if (!name) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", folder);
    qb_status status = qb__file_size(name, &bytes);
    if (status == QB_OK) status = qb__read_text(name, TEXT_MOST, &text);
    if (status == QB_OK) status = parse(folder, text, (size_t)bytes, members, count);
    if (status == QB_NOT_FOUND) status = QB_OK;
    qb__free(text);
    qb__free(name);
    return status;
}
