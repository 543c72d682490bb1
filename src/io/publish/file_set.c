/* SPDX-License-Identifier: MIT */
/* The file `set` in the first hidden folder of a set: "quickbeam set 1", for each member its kind, its number of files,
 * its hidden folder and its name, then "end"; each text ends with a 0. Folders next to the first one are given by name,
 * others by absolute path; a member's name is next to its hidden folder. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/swap.h"
#include "io/publish/publication.h"
#include "io/writer.h"

enum { TEXT_MOST = QB__FILE_SET_MOST * (PATH_MAX + 400) + 64 };
static const char head[] = "quickbeam set 1", tail[] = "end";

static bool add(char *text, size_t *used, const char *word) {
    size_t n = strlen(word) + 1;
    if (*used + n > TEXT_MOST) return false;
    memcpy(text + *used, word, n);
    *used += n;
    return true;
}

static bool add_member(char *text, size_t *used, const qb__member *first, const qb__member *m) {
    char kind[32], whole[PATH_MAX];
    const char *staging = m->staging.folder, *name = qb__last_part(staging);
    bool same_folder = name - staging == qb__last_part(first->staging.folder) - first->staging.folder &&
                       strncmp(staging, first->staging.folder, (size_t)(name - staging)) == 0;
    snprintf(kind, sizeof kind, "%c%zu", (char)m->staging.kind, m->count);
    if (!same_folder) name = realpath(staging, whole);
    return name && add(text, used, kind) && add(text, used, name) && add(text, used, qb__last_part(m->staging.target));
}

qb_status qb__file_set_write(const qb__member *members, size_t count) {
    const qb__member *first = members;
    size_t used = 0;
    char *text, *name = NULL;
    qb_status status = qb__alloc(TEXT_MOST, 1, &text);
    if (status != QB_OK) return status;
    bool fits = add(text, &used, head);
    for (size_t i = 0; fits && i < count; i++) fits = add_member(text, &used, first, &members[i]);
    fits = fits && add(text, &used, tail);
    name = qb__join(first->staging.folder, "set");
    if (!name)
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", first->staging.target);
    else if (!fits)
        status = qb__fail(QB_IO, "%s: too many or too long names to write together", first->staging.target);
    else
        status = qb__write_fresh(name, first->staging.target, text, used);
    QB__FREE(name, text);
    return status;
}

/* The next text before `end`, or NULL. */
static const char *take(const char **at, const char *end) {
    const char *word = *at, *zero = word < end ? memchr(word, 0, (size_t)(end - word)) : NULL;
    if (!zero) return NULL;
    *at = zero + 1;
    return word;
}

/* Next to the first hidden folder, or at its absolute path. */
static qb_status read_member(const char *folder, const char *kind, const char *staging, const char *name,
                             qb__member *m) {
    const int near_first = staging[0] == '/' ? 0 : (int)(qb__last_part(folder) - folder);
    char path[PATH_MAX], target[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s%s", near_first, folder, staging);
    if (n < 0 || (size_t)n >= sizeof path || strchr(name, '/'))
        return qb__fail(QB_BAD_INPUT, "%s: its list of files is damaged: remove it to start again", folder);
    const int same_folder = (int)(qb__last_part(path) - path);
    n = snprintf(target, sizeof target, "%.*s%s", same_folder, path, kind[0] == QB__STAGING_MEMBERS ? "." : name);
    if (n < 0 || (size_t)n >= sizeof target)
        return qb__fail(QB_BAD_INPUT, "%s: its list of files is damaged: remove it to start again", folder);
    m->staging.kind = (qb__staging_kind)kind[0];
    m->count = strtoull(kind + 1, NULL, 10);
    return qb__staging_names(path, target, &m->staging);
}

static qb_status parse(const char *folder, const char *text, size_t bytes, qb__member members[QB__FILE_SET_MOST],
                       size_t *count) {
    const char *at = text, *end = text + bytes, *word = take(&at, end);
    size_t n = 0;
    qb_status status = QB_OK;
    *count = 0;
    if (!word || strcmp(word, head) != 0) return QB_OK;
    while (status == QB_OK && (word = take(&at, end)) && strcmp(word, tail) != 0) {
        const char *staging = take(&at, end), *name = take(&at, end);
        if (n == QB__FILE_SET_MOST || !staging || !name || !strchr("fdsm", word[0])) break;
        status = read_member(folder, word, staging, name, &members[n++]);
    }
    if (status == QB_OK && word && strcmp(word, tail) == 0) {
        *count = n;
        return QB_OK;
    }
    while (n > 0) qb__member_release(&members[--n]);
    return status;
}

qb_status qb__file_set_read(const char *folder, qb__member members[QB__FILE_SET_MOST], size_t *count) {
    for (size_t i = 0; i < QB__FILE_SET_MOST; i++) members[i] = (qb__member){.staging.lock = -1};
    char *name = qb__join(folder, "set"), *text = NULL;
    uint64_t bytes = 0;
    *count = 0;
    if (!name) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", folder);
    qb_status status = qb__file_size(name, &bytes);
    if (status == QB_OK) status = qb__read_text(name, TEXT_MOST, &text);
    if (status == QB_OK) status = parse(folder, text, (size_t)bytes, members, count);
    if (status == QB_NOT_FOUND) status = QB_OK;
    QB__FREE(text, name);
    return status;
}
