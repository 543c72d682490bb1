/* SPDX-License-Identifier: MIT */
#include "planner/tuning.h"

#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "cpu/features.h"
#include "planner/tuning_shipped.h"

const char *qb__tuning_device(const qb__device_info *device, char *name, size_t size) {
    if (!device) return qb__cpu_name();
    qb__print(name, size, device->api == QB__API_OPENCL ? "%s (OpenCL)" : "%s", device->name);
    return name;
}

static size_t class_of(size_t n, size_t most) {
    size_t c = 1;
    while (c < n && c < most) c *= 2;
    return c;
}

static size_t slices_class(const qb__tuning_key *key) { return class_of(key->slices, 128); }

static size_t columns_class(const qb__tuning_key *key) { return class_of(key->columns, 1 << 20); }

static double number(const cJSON *row, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static bool is_text(const cJSON *row, const char *name, const char *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsString(item) && strcmp(item->valuestring, value) == 0;
}

static bool same_kernel(const cJSON *row, const qb__tuning_key *key) {
    return is_text(row, "device", key->device) && is_text(row, "kernel", key->variant);
}

enum { TOO_FAR = 1000, FEW_SLICES = 8 };

/* Distance of shape classes in powers of two; slices weigh more, because they choose the layout. A measurement with
 * many slices is not used for few. */
static int distance(double slices, double columns, const qb__tuning_key *key) {
    int steps = 0;
    double mine = (double)slices_class(key);
    if ((mine < FEW_SLICES || slices < FEW_SLICES) && mine != slices) return TOO_FAR;
    for (double a = (double)slices_class(key), b = slices; a > b || b > a; steps += 4) (a > b ? (b *= 2) : (a *= 2));
    for (double a = (double)columns_class(key), b = columns; a > b || b > a; steps++) (a > b ? (b *= 2) : (a *= 2));
    return steps;
}

static bool power_of_two(double n) {
    return n >= 1 && n <= 1 << 20 && ((size_t)n & ((size_t)n - 1)) == 0 && n == (double)(size_t)n;
}

/* The file may hold anything. Impossible speeds, such as infinity, would win every comparison. */
static bool is_speed(double giga_updates) { return giga_updates >= 1e-6 && giga_updates <= 1e9; }

static bool read_entry(const cJSON *row, qb__tuning_entry *entry) {
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(row, "values");
    memset(entry, 0, sizeof *entry);
    entry->giga_updates = number(row, "giga_updates_per_second");
    if (!is_speed(entry->giga_updates) || !cJSON_IsArray(values) || cJSON_GetArraySize(values) > QB__TUNING_VALUES)
        return false;
    int i = 0;
    const cJSON *value;
    cJSON_ArrayForEach(value, values) entry->values[i++] = value->valueint;
    return true;
}

static int find_in_file(const qb__tuning_key *key, const qb__tuning_test *serves, qb__tuning_entry *entry) {
    int least = TOO_FAR;
    const cJSON *rows = qb__tuning_borrow(), *row; /* NULL: the planner has warned already */
    cJSON_ArrayForEach(row, rows) {
        if (!same_kernel(row, key)) continue;
        double slices = number(row, "slices"), columns = number(row, "columns");
        qb__tuning_entry found;
        if (!power_of_two(slices) || !power_of_two(columns)) continue;
        int d = distance(slices, columns, key);
        if (d < least && read_entry(row, &found) && (!serves || serves->test(serves->context, found.values)))
            least = d, *entry = found;
    }
    qb__tuning_return();
    return least;
}

bool qb__tuning_find(const qb__tuning_key *key, const qb__tuning_test *serves, qb__tuning_entry *entry) {
    int least = find_in_file(key, serves, entry);
    if (least < TOO_FAR) return true;
    for (size_t i = 0; i < qb__tuning_shipped_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_shipped_rows[i];
        if (strcmp(row->key.device, key->device) || strcmp(row->key.variant, key->variant)) continue;
        int d = distance((double)row->key.slices, (double)row->key.columns, key);
        if (d < least) least = d, *entry = row->entry;
    }
    return least < TOO_FAR || qb__tuning_paper_find(key, slices_class(key) < FEW_SLICES, entry);
}

static cJSON *new_row(const qb__tuning_key *key, const qb__tuning_entry *entry) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "device", key->device);
    cJSON_AddStringToObject(row, "kernel", key->variant);
    cJSON_AddNumberToObject(row, "slices", (double)slices_class(key));
    cJSON_AddNumberToObject(row, "columns", (double)columns_class(key));
    cJSON_AddItemToObject(row, "values", cJSON_CreateIntArray(entry->values, QB__TUNING_VALUES));
    cJSON_AddNumberToObject(row, "giga_updates_per_second", entry->giga_updates);
    return row;
}

static void replace_row(cJSON *root, const qb__tuning_key *key, const qb__tuning_entry *entry) {
    for (cJSON *row = root->child, *next; row; row = next) {
        next = row->next;
        if (same_kernel(row, key) && number(row, "slices") == (double)slices_class(key) &&
            number(row, "columns") == (double)columns_class(key))
            cJSON_Delete(cJSON_DetachItemViaPointer(root, row));
    }
    cJSON_AddItemToArray(root, new_row(key, entry));
}

static qb_status check_path(void) {
    if (*qb__tuning_path()) return QB_OK;
    return qb__fail(QB_IO, "there is no home to keep tuning.json in, or its name is too long: set QB_TUNING=FILE");
}

qb_status qb__tuning_store(const qb__tuning_key *key, const qb__tuning_entry *entry, const qb_env *env) {
    cJSON *root = NULL;
    int lock = qb__tuning_lock(env);
    qb_status status = check_path();
    if (status == QB_OK) status = qb__tuning_read(&root);
    if (status == QB_OK) {
        replace_row(root, key, entry);
        status = qb__tuning_write(root);
    }
    cJSON_Delete(root);
    qb__tuning_unlock(lock);
    return status;
}

qb_status qb__tuning_check(void) {
    cJSON *root = NULL;
    qb_status status = check_path();
    if (status == QB_OK) status = qb__tuning_read(&root);
    cJSON_Delete(root);
    return status;
}

void qb__tuning_warn(const qb_env *env) {
    cJSON *root;
    if (qb__tuning_read(&root) != QB_OK)
        qb__warn(env, "the tuning file is not used: %s" QB__CODE("tuning-file"), qb_detail());
    cJSON_Delete(root);
}
