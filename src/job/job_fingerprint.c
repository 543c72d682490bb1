/* SPDX-License-Identifier: MIT */
#include "job/job_fingerprint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"

static const char *text_of(const cJSON *item, char *room, size_t size) {
    if (cJSON_IsString(item)) return item->valuestring;
    if (!cJSON_IsNumber(item)) return "nothing";
    snprintf(room, size, "%.9g", item->valuedouble);
    return room;
}

/* A hash, which says nobody anything. */
static bool is_hash(const cJSON *item) {
    return cJSON_IsString(item) && strlen(item->valuestring) == 16 &&
           strspn(item->valuestring, "0123456789abcdef") == 16;
}

static void say(const char *name, const cJSON *then, const cJSON *now, char *words, size_t size) {
    char a[40], b[40];
    if (is_hash(then) && is_hash(now))
        snprintf(words, size, "its %s are not these", name);
    else
        snprintf(words, size, "%s was %.80s and is %.80s", name, text_of(then, a, sizeof a), text_of(now, b, sizeof b));
}

/* The first item of `one` that is not the same in `other`, in words, of hashes or of all else; options have a table of their
 * own. `then`: `one` is what was. */
static bool differs(const cJSON *one, const cJSON *other, bool then, bool hashes, char *words, size_t size) {
    for (const cJSON *item = one->child; item; item = item->next) {
        const cJSON *counterpart = cJSON_GetObjectItemCaseSensitive(other, item->string);
        if (cJSON_Compare(counterpart, item, true)) continue;
        if (cJSON_IsObject(item) && cJSON_IsObject(counterpart)) {
            if (differs(item, counterpart, then, hashes, words, size)) return true;
            continue;
        }
        if (is_hash(item) != hashes) continue;
        say(item->string, then ? item : counterpart, then ? counterpart : item, words, size);
        return true;
    }
    return false;
}

/* A hash changes with what has a name (a file that is no longer given is not among what is hashed): names first. */
static bool describe(const cJSON *then, const cJSON *now, char *words, size_t size) {
    for (int hashes = 0; hashes < 2; hashes++)
        if (differs(now, then, false, hashes, words, size) || differs(then, now, true, hashes, words, size))
            return true;
    return false;
}

qb_status qb__job_fingerprint_mismatch(const char *path, const char *then, const char *now) {
    char words[300];
    cJSON *a = cJSON_Parse(then), *b = cJSON_Parse(now);
    if (!a || !b || !describe(a, b, words, sizeof words))
        snprintf(words, sizeof words, "numbers that are told in no words are others");
    cJSON_Delete(a);
    cJSON_Delete(b);
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s belongs to another job: %s. Give what it was started with, another -o, or no --resume to "
                    "start anew",
                    path, words);
}
