/* SPDX-License-Identifier: MIT */
#include "job/other_job.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

static const char *text_of(const cJSON *item, char *room, size_t size) {
    if (cJSON_IsString(item)) return item->valuestring;
    if (!cJSON_IsNumber(item)) return "nothing";
    snprintf(room, size, "%.9g", item->valuedouble);
    return room;
}

/* The first that is not the same, in words; options have a table of their own. */
static bool differs(const cJSON *then, const cJSON *now, char *words, size_t size) {
    for (const cJSON *item = now->child; item; item = item->next) {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(then, item->string);
        char a[40], b[40];
        if (cJSON_Compare(other, item, true)) continue;
        if (cJSON_IsObject(item) && cJSON_IsObject(other)) return differs(other, item, words, size);
        snprintf(words, size, "%s was %.80s and is %.80s", item->string, text_of(other, a, sizeof a),
                 text_of(item, b, sizeof b));
        return true;
    }
    return false;
}

qb_status qb__other_job(const char *path, const char *then, const char *now) {
    char words[300];
    cJSON *a = cJSON_Parse(then), *b = cJSON_Parse(now);
    if (!a || !b || (!differs(a, b, words, sizeof words) && !differs(b, a, words, sizeof words)))
        snprintf(words, sizeof words, "options that are not set now were set");
    cJSON_Delete(a);
    cJSON_Delete(b);
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s belongs to another job: %s. Give what it was started with, another -o, or no --resume to "
                    "start anew",
                    path, words);
}
