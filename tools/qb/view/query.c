/* SPDX-License-Identifier: MIT */
#include "query.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cli.h"

const char *view_find(const char *query, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = query; *at; at++) {
        if (strncmp(at, name, n) == 0 && at[n] == '=') return at + n + 1;
        if (!(at = strchr(at, '&'))) break;
    }
    return NULL;
}

bool view_text(const char *query, const char *name, char *text, size_t size) {
    const char *at = view_find(query, name);
    const size_t n = at ? strcspn(at, "&") : size;
    if (n >= size) return false;
    memcpy(text, at, n);
    text[n] = 0;
    return true;
}

bool view_numbers(const char *query, const char *name, size_t count, size_t *out) {
    const char *at = view_find(query, name);
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (!at || *at < '0' || *at > '9') return false;
        const unsigned long long value = strtoull(at, &end, 10);
        if (value > 1ull << 40) return false;
        out[i] = (size_t)value;
        if (*end != (i + 1 < count ? ',' : '&') && !(i + 1 == count && *end == 0)) return false;
        at = end + 1;
    }
    return true;
}

bool view_reals(const char *query, const char *name, size_t count, double *out) {
    const char *at = view_find(query, name);
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (!at || !strchr("-.0123456789", *at) || !*at) return false;
        out[i] = strtod(at, &end);
        if (end == at || !(fabs(out[i]) < 1e9)) return false;
        if (*end != (i + 1 < count ? ',' : '&') && !(i + 1 == count && *end == 0)) return false;
        at = end + 1;
    }
    return true;
}

view_answer view_say(int status, const char *format, ...) {
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    view_answer answer = {
        .status = status, .type = "text/plain; charset=utf-8", .bytes = strdup(text), .size = strlen(text)};
    if (!answer.bytes) answer.size = 0;
    return answer;
}

void view_why(qb_status status, char *words, size_t size) {
    snprintf(words, size, "%s", *complaint() ? complaint() : qb_status_text(status));
    complain(status, "%s", "");
}

view_answer view_failed(qb_status status) {
    char words[700];
    view_why(status, words, sizeof words);
    if (status == QB_CANCELLED) return view_say(499, "nobody waits for it any more");
    return view_say(status == QB_BAD_ARGUMENT || status == QB_UNSUPPORTED ? 400 : 500, "%s", words);
}

view_answer view_json(cJSON *root) {
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (!text) return view_say(500, "no memory for an answer");
    return (view_answer){.status = 200, .type = "application/json", .bytes = text, .size = strlen(text)};
}

view_answer view_values(float *values, size_t count) {
    return (view_answer){
        .status = 200, .type = "application/octet-stream", .bytes = values, .size = count * sizeof *values};
}
