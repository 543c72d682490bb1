/* SPDX-License-Identifier: MIT */
#include "io/vendor/ini.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

enum { TEXT_MOST = 64 << 20, VALUE = 256 };

static qb_status read_settings(const char *path, qb__text *text) {
    QB__OR_RETURN(qb__text_read(path, TEXT_MOST, text));
    qb__text_narrow(text);
    if (strlen(text->data) == text->length) return QB_OK;
    qb__text_clear(text);
    return qb__fail(QB_BAD_INPUT, "%s is not a text file of settings: it holds bytes that are 0", path);
}

qb_status qb__settings_text(const char *path, char **text) {
    qb__text whole = {0};
    const qb_status status = read_settings(path, &whole);
    *text = whole.data;
    return status;
}

qb_status qb__settings_xml(const char *path, char **text) {
    char root[64];
    const qb_status status = qb__settings_text(path, text);
    if (status != QB_OK || qb__tag_closed(*text, root, sizeof root)) return status;
    qb__free(*text);
    *text = NULL;
    return qb__fail(QB_BAD_INPUT, "%s is incomplete: its end tag </%s> is missing; copy it again", path, root);
}

qb_status qb__ini_read(const char *path, qb__ini *ini) {
    ini->path = path;
    return read_settings(path, &ini->text);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '_' || c == '\r'; }

/* The text after the key and its '='; NULL if the line has another key. */
static const char *behind_key(const char *line, const char *key) {
    for (; *key; key++) {
        if (is_blank(*key)) continue;
        while (is_blank(*line)) line++;
        if (tolower((unsigned char)*line) != tolower((unsigned char)*key)) return NULL;
        line++;
    }
    while (is_blank(*line)) line++;
    return *line == '=' ? line + 1 : NULL;
}

bool qb__ini_text_of(const qb__ini *ini, const char *section, const char *key, char *value, size_t size) {
    bool inside = !section;
    value[0] = 0;
    for (const char *line = ini->text.data; line && *line;) {
        const char *end = line + strcspn(line, "\n");
        if (section && *line == '[')
            inside = strncasecmp(line + 1, section, strlen(section)) == 0 && line[1 + strlen(section)] == ']';
        const char *at = inside ? behind_key(line, key) : NULL;
        if (at) {
            while (at < end && (isspace((unsigned char)*at) || *at == '"')) at++;
            while (end > at && (isspace((unsigned char)end[-1]) || end[-1] == '"')) end--;
            snprintf(value, size, "%.*s", (int)(end - at < (ptrdiff_t)size ? end - at : (ptrdiff_t)size), at);
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

bool qb__ini_text(const qb__ini *ini, const char *key, char *value, size_t size) {
    return qb__ini_text_of(ini, NULL, key, value, size);
}

static qb_status take(const qb__ini *ini, const qb__ini_number *n, double *out) {
    char value[VALUE];
    *out = NAN;
    if (!qb__ini_text(ini, n->key, value, sizeof value)) {
        if (!n->needed) return QB_OK;
        return qb__fail(QB_BAD_INPUT, "%s has no line `%s=...`, which is needed to reconstruct", ini->path, n->key);
    }
    double number;
    if (qb__setting_number(value, &number) && number >= n->low && number <= n->high) {
        *out = number;
        return QB_OK;
    }
    return qb__fail(QB_BAD_INPUT, "%s: %s is '%.60s', which should be a number from %g to %g", ini->path, n->key, value,
                    n->low, n->high);
}

qb_status qb__ini_numbers(const qb__ini *ini, const qb__ini_number *numbers, size_t count, void *out) {
    for (size_t i = 0; i < count; i++) {
        QB__OR_RETURN(take(ini, &numbers[i], (double *)(void *)((char *)out + numbers[i].at)));
    }
    return QB_OK;
}
