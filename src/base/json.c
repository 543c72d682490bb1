/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

#include "base/status.h"

#undef cJSON_AddStringToObject
#undef cJSON_Print

static _Thread_local bool lost;

cJSON *qb__json_kept(cJSON *item) {
    lost |= !item;
    return item;
}

bool qb__json_added(bool added) {
    lost |= !added;
    return added;
}

cJSON *qb__json_add_text(cJSON *to, const char *name, const char *text) {
    return text ? qb__json_kept(cJSON_AddStringToObject(to, name, text)) : NULL;
}

void qb__json_forget(void) { lost = false; }

/* ---- text ---- */

/* Number of bytes of the UTF-8 character; 0 if it is invalid. */
static size_t character(const unsigned char *at) {
    static const struct {
        unsigned char first, last, low, high; /* range of the first byte, and of the second */
        size_t bytes;
    } rows[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (at[0] < rows[i].first || at[0] > rows[i].last) continue;
        size_t n = 1;
        while (n < rows[i].bytes && at[n] >= (n == 1 ? rows[i].low : 0x80) && at[n] <= (n == 1 ? rows[i].high : 0xbf))
            n++;
        return n == rows[i].bytes ? n : 0;
    }
    return 0;
}

/* JSON is UTF-8, but file names may hold any bytes: an invalid byte becomes \\xHH in JSON, which is read as \xHH. */
static char *escape(char *text) {
    static const char hex[] = "0123456789abcdef";
    size_t bad = 0, bytes = 0, n;
    for (const unsigned char *at = (unsigned char *)text; at[bytes]; bytes += n ? n : 1)
        bad += (n = character(at + bytes)) == 0;
    char *wider = bad ? cJSON_malloc(bytes + 4 * bad + 1) : NULL, *to = wider;
    if (!bad) return text;
    for (const char *at = text; wider && *at; at += n ? n : 1) {
        n = character((const unsigned char *)at);
        const unsigned char byte = (unsigned char)*at;
        const char code[] = {'\\', '\\', 'x', hex[byte >> 4], hex[byte & 15]};
        memcpy(to, n ? at : code, n ? n : sizeof code);
        to += n ? n : sizeof code;
    }
    if (wider) *to = '\0';
    cJSON_free(text);
    return wider;
}

char *qb__json_print(const cJSON *json) {
    const bool whole = !lost;
    lost = false;
    char *text = whole ? cJSON_Print(json) : NULL;
    return text ? escape(text) : NULL;
}

qb_status qb__json_whole(const char *what) {
    const bool whole = !lost;
    lost = false;
    return whole ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for %s", what);
}

qb_status qb__json_text(cJSON *json, const char *what, char **text) {
    *text = qb__json_print(json);
    cJSON_Delete(json);
    return *text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for %s", what);
}

void qb_text_free(char *text) { cJSON_free(text); }
