/* SPDX-License-Identifier: MIT */
#include "cli.h"

const char *plural(double count) { return count == 1 ? "" : "s"; }

double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *text(const cJSON *object, const char *name) {
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return found ? found : "";
}
