/* SPDX-License-Identifier: MIT */
#include "io/vendor/tags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* True if the tag whose text begins at `at` has this name. A prefix such as cb: is ignored. */
static bool is_named(const char *at, const char *name) {
    const size_t whole = strcspn(at, " \t\r\n/>"), n = strlen(name);
    return whole >= n && strncmp(at + whole - n, name, n) == 0 && (whole == n || at[whole - n - 1] == ':');
}

const char *qb__tag_text(const char *text, const char *end, const char *name, char *value, size_t size) {
    value[0] = 0;
    for (const char *at = strchr(text, '<'); at && (!end || at < end); at = strchr(at + 1, '<')) {
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at, "-->");
            if (!at) return NULL;
        }
        if (!is_named(at + 1, name)) continue;
        const char *from = at + strcspn(at, ">");
        if (!*from || from[-1] == '/') continue;
        from++;
        const char *to = from + strcspn(from, "<"), *stop = to;
        while (from < to && isspace((unsigned char)*from)) from++;
        while (to > from && isspace((unsigned char)to[-1])) to--;
        snprintf(value, size, "%.*s", (int)(to - from < (ptrdiff_t)size ? to - from : (ptrdiff_t)size), from);
        return stop;
    }
    return NULL;
}

bool qb__tag_number(const char *text, const char *end, const char *name, double *value) {
    char words[64];
    return qb__tag_text(text, end, name, words, sizeof words) && qb__setting_number(words, value);
}
