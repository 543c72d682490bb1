/* SPDX-License-Identifier: MIT */
#include "job/job.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { DIGITS = 9, ALL_DIGITS = 17 };

static const char *text_of(const cJSON *item, int digits, char *room, size_t size) {
    if (cJSON_IsString(item)) return item->valuestring;
    if (!cJSON_IsNumber(item)) return "not given";
    snprintf(room, size, "%.*g", digits, item->valuedouble);
    return room;
}

/* True for numbers that differ only beyond the digits usually printed. They are reported with all digits, if nothing
 * else differs. */
static bool is_near(const cJSON *then, const cJSON *now) {
    char a[40], b[40];
    return cJSON_IsNumber(then) && cJSON_IsNumber(now) &&
           strcmp(text_of(then, DIGITS, a, sizeof a), text_of(now, DIGITS, b, sizeof b)) == 0;
}

/* True for a hash, which means nothing to a user. */
static bool is_hash(const cJSON *item) {
    return cJSON_IsString(item) && strlen(item->valuestring) == 16 &&
           strspn(item->valuestring, "0123456789abcdef") == 16;
}

static void say(const char *name, const cJSON *then, const cJSON *now, char *words, size_t size) {
    char a[40], b[40];
    const int digits = is_near(then, now) ? ALL_DIGITS : DIGITS;
    if (is_hash(then) && is_hash(now))
        snprintf(words, size, "its %s are not these", name);
    else
        snprintf(words, size, "%s was %.80s and is %.80s", name, text_of(then, digits, a, sizeof a),
                 text_of(now, digits, b, sizeof b));
}

enum { NAMES, HASHES, NEAR, KINDS };

static int kind_of(const cJSON *one, const cJSON *other) {
    return is_hash(one) ? HASHES : is_near(one, other) ? NEAR : NAMES;
}

/* Describes the first item of `one` of this kind that differs in `other`; options are in an object of their own.
 * `then`: `one` is the earlier job. */
static bool differs(const cJSON *one, const cJSON *other, bool then, int kind, char *words, size_t size) {
    for (const cJSON *item = one->child; item; item = item->next) {
        const cJSON *counterpart = cJSON_GetObjectItemCaseSensitive(other, item->string);
        if (cJSON_Compare(counterpart, item, true)) continue;
        if (cJSON_IsObject(item) && cJSON_IsObject(counterpart)) {
            if (differs(item, counterpart, then, kind, words, size)) return true;
            continue;
        }
        if (kind_of(item, counterpart) != kind) continue;
        say(item->string, then ? item : counterpart, then ? counterpart : item, words, size);
        return true;
    }
    return false;
}

/* A named item explains a changed hash (a file that is no longer given is not hashed): compare names first. */
static bool describe(const cJSON *then, const cJSON *now, char *words, size_t size) {
    for (int kind = NAMES; kind < KINDS; kind++)
        if (differs(now, then, false, kind, words, size) || differs(then, now, true, kind, words, size)) return true;
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
