/* SPDX-License-Identifier: MIT */
#include "io/vendor/ini.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

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

qb_status qb__tag_optional(const char *path, const char *text, const char *name, double *value) {
    char words[64];
    if (!qb__tag_text(text, NULL, name, words, sizeof words) || qb__setting_number(words, value)) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: <%s> is '%.60s', which should be a number", path, name, words);
}

bool qb__tag_closed(const char *text, char *name, size_t size) {
    const char *at = text + strspn(text, " \t\r\n");
    *name = 0;
    if (*at != '<') return true;
    while (at && (at[1] == '?' || at[1] == '!')) { /* <?xml ...?>, <!-- ... --> */
        at = strstr(at, at[1] == '?' ? "?>" : strncmp(at, "<!--", 4) == 0 ? "-->" : ">");
        at = at ? strchr(at, '<') : NULL;
    }
    if (!at) return false;
    const size_t n = strcspn(++at, " \t\r\n/>");
    snprintf(name, size, "%.*s", (int)(n < size ? n : size - 1), at);
    for (const char *end = strstr(at, "</"); end; end = strstr(end + 2, "</"))
        if (strncmp(end + 2, at, n) == 0 && end[2 + n + strspn(end + 2 + n, " \t\r\n")] == '>') return true;
    at += strcspn(at, "<>"); /* <NAME/> */
    return *at == '>' && at[-1] == '/';
}
