/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return item ? item->valuedouble : 0;
}

/* As Table I of the paper has it (bench_rabbitct_ladder.c): total, mean of a view, error, what each step brings. */
static void print_rung(const cJSON *row) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(row, "configuration"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(row, "not_run"));
    char times[16] = "";
    if (why) {
        printf("%-42s not run: %s\n", name, why);
        return;
    }
    if (cJSON_GetObjectItem(row, "speed_up")) snprintf(times, sizeof times, "%.2f", number(row, "speed_up"));
    printf("%-42s %10.4g %10.3g %10.4f %8s %8.1f\n", name, number(row, "seconds"), number(row, "mean_ms"), number(row, "error_hu2"),
           times, number(row, "gups"));
}

static qb_status print_ladder(const char *json) {
    cJSON *root = cJSON_Parse(json);
    const cJSON *row, *list = cJSON_GetObjectItem(root, "configurations");
    if (!root) return QB_NO_MEMORY;
    printf("%s: %.0f views of %.0f x %.0f to %.0f^3%s\n", cJSON_GetStringValue(cJSON_GetObjectItem(root, "device")), number(root, "views"),
           number(root, "columns"), number(root, "rows"), number(root, "size"),
           cJSON_IsTrue(cJSON_GetObjectItem(root, "reference_present")) ? "" : ", error at samples: there is no reference");
    printf("%-42s %10s %10s %10s %8s %8s\n", "configuration", "total s", "ms a view", "HU^2", "times", "GUPS");
    cJSON_ArrayForEach(row, list) print_rung(row);
    if (number(root, "best_views_per_launch") > 0)
        printf("best: %.0f views a launch\n", number(root, "best_views_per_launch"));
    cJSON_Delete(root);
    return QB_OK;
}

qb_status cmd_bench(cli *c) {
    char *json;
    qb_status status = qb_bench(c->argument[0], c->count > 1 ? c->argument[1] : NULL, &c->options.bench, &c->env, &json);
    if (status != QB_OK) return status;
    if (c->options.run.json && !is_silent()) {
        status = give_result(c, strdup(json));
    } else {
        finish_progress();
        if (!is_silent() && c->options.bench.ladder && strcmp(c->argument[0], "rabbitct") == 0)
            status = print_ladder(json);
        else if (!is_silent())
            puts(json);
    }
    qb_text_free(json);
    return status;
}
