/* SPDX-License-Identifier: MIT */
#include "planner/rates.h"

#include <string.h>

#include "cpu/features.h"
#include "planner/tuning.h"
#include "planner/variants.h"

/* A home folder may serve several machines. */
static bool is_of_here(const cJSON *row) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "machine");
    const cJSON *cpus = cJSON_GetObjectItemCaseSensitive(row, "cpus");
    return cJSON_IsString(name) && strcmp(name->valuestring, qb__cpu_name()) == 0 && cJSON_IsNumber(cpus) &&
           cpus->valuedouble == qb__cpu_count();
}

/* The file may hold anything. */
static double take(const cJSON *rates, const char *name) {
    const cJSON *rate = cJSON_GetObjectItemCaseSensitive(rates, name);
    return cJSON_IsNumber(rate) && rate->valuedouble >= 1e3 && rate->valuedouble <= 1e15 ? rate->valuedouble : 0;
}

/* 0 if there is none. */
static double find(const char *name) {
    double rate = 0;
    const cJSON *rows = qb__tuning_borrow(), *row;
    cJSON_ArrayForEach(row, rows) {
        if (is_of_here(row)) rate = take(cJSON_GetObjectItemCaseSensitive(row, "rates"), name);
    }
    qb__tuning_return();
    return rate;
}

double qb__rate(const char *name, double listed) {
    const double rate = find(name);
    return rate > 0 ? rate : listed;
}

double qb__speed(const qb__variant *variant) {
    const double listed = variant->speed * 1e9, own = find(variant->id);
    const qb__variant *other;
    if (own > 0) return own;
    for (size_t i = 0; (other = qb__variant_at(variant->operation, false, i)) != NULL; i++) {
        const double measured = find(other->id);
        if (measured > 0 && other->speed > 0) return listed * measured / (other->speed * 1e9);
    }
    return listed;
}

bool qb__rates_known(void) { return find(QB__RATE_FILTER) > 0; }

static cJSON *new_row(const cJSON *rates) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "machine", qb__cpu_name());
    cJSON_AddNumberToObject(row, "cpus", qb__cpu_count());
    cJSON_AddItemToObject(row, "rates", cJSON_Duplicate(rates, true));
    return row;
}

qb_status qb__rates_store(const cJSON *rates, const qb_env *env) {
    cJSON *rows = NULL;
    if (!*qb__tuning_path()) return QB_OK;
    int lock = qb__tuning_lock(env);
    qb_status status = qb__tuning_read(&rows);
    if (status == QB_OK) {
        for (cJSON *row = rows->child, *next; row; row = next) {
            next = row->next;
            if (is_of_here(row)) cJSON_Delete(cJSON_DetachItemViaPointer(rows, row));
        }
        cJSON_AddItemToArray(rows, new_row(rates));
        status = qb__tuning_write(rows);
    }
    cJSON_Delete(rows);
    qb__tuning_unlock(lock);
    return status;
}
