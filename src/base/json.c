/* SPDX-License-Identifier: MIT */
#include "base/json.h"

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

char *qb__json_print(const cJSON *json) {
    const bool whole = !lost;
    lost = false;
    return whole ? cJSON_Print(json) : NULL;
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
