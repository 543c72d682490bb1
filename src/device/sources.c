/* SPDX-License-Identifier: MIT */
#include "device/sources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* #include is resolved here and not by the compilers: OpenCL's compilers know no files, and the cache's key must cover
 * the whole text. */

enum { FILES_MAX = 16, NAME_MAX_BYTES = 96 };

typedef struct writer {
    char *text;
    size_t used, room;
    const char *included[FILES_MAX];
    int files;
} writer;

static const qb__kernel_source *find_source(const char *name) {
    for (const qb__kernel_source *source = qb__kernel_sources; source->name; source++) {
        if (!strcmp(source->name, name)) return source;
    }
    return NULL;
}

static qb_status put(writer *w, const char *text, size_t count) {
    if (w->room - w->used <= count) {
        char *larger;
        size_t room = 2 * (w->room + count) + 64;
        QB__OR_RETURN(qb__alloc(room, 1, &larger));
        if (w->used) memcpy(larger, w->text, w->used);
        qb__free(w->text);
        w->text = larger;
        w->room = room;
    }
    memcpy(w->text + w->used, text, count);
    w->used += count;
    w->text[w->used] = '\0';
    return QB_OK;
}

static qb_status put_line_number(writer *w, size_t line, const char *name) {
    char text[NAME_MAX_BYTES + 48];
    int n = snprintf(text, sizeof text, "#line %zu \"%s\"\n", line, name);
    return put(w, text, (size_t)n);
}

/* The name in a line `#include "NAME"`, or NULL. */
static bool include_name(const char *line, const char *end, char name[NAME_MAX_BYTES]) {
    static const char word[] = "#include \"";
    size_t n = sizeof word - 1;
    if ((size_t)(end - line) <= n || memcmp(line, word, n) != 0) return false;
    const char *quote = memchr(line + n, '"', (size_t)(end - line) - n);
    if (!quote || quote - line - (ptrdiff_t)n >= NAME_MAX_BYTES) return false;
    memcpy(name, line + n, (size_t)(quote - line) - n);
    name[(size_t)(quote - line) - n] = '\0';
    return true;
}

static qb_status put_file(writer *w, const qb__kernel_source *source) {
    for (int i = 0; i < w->files; i++) {
        if (w->included[i] == source->text) return QB_OK;
    }
    if (w->files == FILES_MAX) {
        return qb__fail(QB_INTERNAL, "%s: more than %d included files", source->name, FILES_MAX);
    }
    w->included[w->files++] = source->text;
    size_t number = 0;
    QB__OR_RETURN(put_line_number(w, 1, source->name));
    for (const char *line = source->text; *line;) {
        const char *end = strchr(line, '\n');
        const char *next = end ? end + 1 : line + strlen(line);
        char name[NAME_MAX_BYTES];
        const qb__kernel_source *other = NULL;
        number++;
        if (include_name(line, next, name)) other = find_source(name);
        if (other) {
            QB__OR_RETURN(put_file(w, other));
            QB__OR_RETURN(put_line_number(w, number + 1, source->name));
        } else {
            QB__OR_RETURN(put(w, line, (size_t)(next - line)));
        }
        line = next;
    }
    return put(w, "\n", 1);
}

qb_status qb__kernel_source_text(const char *name, char **text) {
    writer w = {0};
    const qb__kernel_source *dialect = find_source("dialect.h");
    const qb__kernel_source *source = find_source(name);
    qb_status status;
    *text = NULL;
    if (!dialect || !source) {
        return qb__fail(QB_NOT_FOUND, "the library has no kernel source %s", source ? "dialect.h" : name);
    }
    QB__TRY(put_file(&w, dialect));
    QB__TRY(put_file(&w, source));
    *text = w.text;
    w.text = NULL;
out:
    qb__free(w.text);
    return status;
}
