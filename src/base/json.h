/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "quickbeam/status.h"

/* Wrappers of cJSON that remember, per thread, that an allocation failed, until the text is printed: then it is NULL.
 * Plans, reports and provenance are built by many calls whose results are not checked, and must not silently lack a
 * part. */
cJSON *qb__json_kept(cJSON *item); /* returns the item itself; NULL is remembered as a failure */
bool qb__json_added(bool added);   /* records a failure to add an item */
/* Does nothing if `text` is NULL. */
cJSON *qb__json_add_text(cJSON *to, const char *name, const char *text);
char *qb__json_print(const cJSON *json); /* release with cJSON_free; NULL if memory ran out, now or before */
/* Print and delete the item. QB_NO_MEMORY with `what` in the message. Release *text with cJSON_free. */
qb_status qb__json_text(cJSON *json, const char *what, char **text);
/* QB_NO_MEMORY, with `what` in the message, if an allocation of this thread failed since the last check; the failure is
 * then forgotten. Call it in a thread that builds a part that another thread prints. */
qb_status qb__json_whole(const char *what);
void qb__json_forget(void); /* forget failures of a text that was given up */

#define cJSON_CreateObject() qb__json_kept(cJSON_CreateObject())
#define cJSON_CreateArray() qb__json_kept(cJSON_CreateArray())
#define cJSON_CreateNumber(number) qb__json_kept(cJSON_CreateNumber(number))
#define cJSON_CreateString(text) qb__json_kept(cJSON_CreateString(text))
#define cJSON_CreateBool(truth) qb__json_kept(cJSON_CreateBool(truth))
#define cJSON_CreateNull() qb__json_kept(cJSON_CreateNull())
#define cJSON_CreateIntArray(numbers, count) qb__json_kept(cJSON_CreateIntArray(numbers, count))
#define cJSON_CreateDoubleArray(numbers, count) qb__json_kept(cJSON_CreateDoubleArray(numbers, count))
#define cJSON_CreateStringArray(texts, count) qb__json_kept(cJSON_CreateStringArray(texts, count))
#define cJSON_Duplicate(item, recurse) qb__json_kept(cJSON_Duplicate(item, recurse))
#define cJSON_AddNumberToObject(to, name, number) qb__json_kept(cJSON_AddNumberToObject(to, name, number))
#define cJSON_AddStringToObject(to, name, text) qb__json_add_text(to, name, text)
#define cJSON_AddBoolToObject(to, name, truth) qb__json_kept(cJSON_AddBoolToObject(to, name, truth))
#define cJSON_AddTrueToObject(to, name) qb__json_kept(cJSON_AddTrueToObject(to, name))
#define cJSON_AddFalseToObject(to, name) qb__json_kept(cJSON_AddFalseToObject(to, name))
#define cJSON_AddNullToObject(to, name) qb__json_kept(cJSON_AddNullToObject(to, name))
#define cJSON_AddRawToObject(to, name, text) qb__json_kept(cJSON_AddRawToObject(to, name, text))
#define cJSON_AddObjectToObject(to, name) qb__json_kept(cJSON_AddObjectToObject(to, name))
#define cJSON_AddArrayToObject(to, name) qb__json_kept(cJSON_AddArrayToObject(to, name))
#define cJSON_AddItemToObject(to, name, item) qb__json_added(cJSON_AddItemToObject(to, name, item))
#define cJSON_AddItemToArray(to, item) qb__json_added(cJSON_AddItemToArray(to, item))
#define cJSON_Print(json) qb__json_print(json)
