/* SPDX-License-Identifier: MIT */
/* Messages about counts: formats are written for many ("%zu views are"), and a count of 1 reads "1 view is". */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

static const char *const nouns[] = {
    "angles",  "blocks", "bytes",   "chunks",    "columns", "counts",     "darks",   "devices",       "files",
    "flats",   "frames", "groups",  "images",    "jobs",    "lines",      "links",   "transmissions", "arrays",
    "numbers", "parts",  "pixels",  "processes", "ranks",   "rows",       "shapes",  "slabs",         "slices",
    "shifts",  "tiles",  "threads", "values",    "views",   "iterations", "kernels", "voxels",
};

static const char *const verbs[][2] = {{"are", "is"},     {"do", "does"},  {"have", "has"},
                                       {"hold", "holds"}, {"lie", "lies"}, {"were", "was"}};

/* The length of the noun at `word`, of which the format has a count; 0: there is none. */
static size_t noun_of(const char *word, const char *format) {
    const size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz");
    if (word[length] && strchr("./_-", word[length]) && isalnum((unsigned char)word[length + 1])) return 0; /* a name */
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        if (strlen(nouns[i]) != length || memcmp(nouns[i], word, length) != 0) continue;
        for (const char *at = format; (at = strstr(at, nouns[i])); at++)
            if (at > format + 2 && at[-1] == ' ' && strchr("uduf", at[-2])) return length;
    }
    return 0;
}

/* Puts the verb of the clause into the singular. */
static void mend_verb(char *at, size_t size) {
    for (at += strspn(at, " "); *at && !strchr(",:;.", *at); at += strcspn(at, " ,:;."), at += *at == ' ') {
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        if (strncmp(at, "and ", 4) == 0) return;
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
            const size_t one = strlen(verbs[i][1]), rest = strlen(at + length) + 1;
            if (strlen(verbs[i][0]) != length || memcmp(at, verbs[i][0], length) != 0 || one + rest > size) continue;
            memmove(at + one, at + length, rest);
            memcpy(at, verbs[i][1], one);
            return;
        }
    }
}

/* Also the control characters 80 to 9f, as encoded in UTF-8. */
void qb__printable(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) at[0] = at[1] = ' ';
        if (*at < ' ' || *at == 0x7f) *at = ' ';
    }
}

void qb__say(char *text, size_t size, const char *format, va_list args) {
    vsnprintf(text, size, format, args);
    qb__printable(text);
    for (char *at = text; (at = strstr(at, "1 ")); at += 2) {
        const bool alone = at == text || at[-1] == '(' || (at[-1] == ' ' && !(at > text + 1 && at[-2] == 'x'));
        const size_t length = alone ? noun_of(at + 2, format) : 0;
        if (!length) continue;
        char *end = at + 2 + length, *cut = end - (strncmp(end - 4, "sses", 4) == 0 ? 2 : 1);
        memmove(cut, end, strlen(end) + 1);
        mend_verb(cut, size - (size_t)(cut - text));
    }
}
