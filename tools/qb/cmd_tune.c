/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

static void print_row(const cJSON *row) {
    const cJSON *why = cJSON_GetObjectItem(row, "not_run");
    printf("%-36s ", cJSON_GetObjectItem(row, "kernel")->valuestring);
    if (why) {
        printf("not run: %s\n", why->valuestring);
        return;
    }
    const cJSON *speed = cJSON_GetObjectItem(row, "giga_updates_per_second"), *value;
    printf("%3.0f tried", cJSON_GetObjectItem(row, "tried")->valuedouble);
    if (!speed) {
        puts(", none of them right");
        return;
    }
    printf(", %9.2f giga-updates/s (%.2f times the start):", speed->valuedouble,
           cJSON_GetObjectItem(row, "ratio_to_start")->valuedouble);
    cJSON_ArrayForEach(value, cJSON_GetObjectItem(row, "parameters"))
        printf(" %s=%g", value->string, value->valuedouble);
    puts(cJSON_GetObjectItem(row, "for_comparison") ? " (for comparison)" : "");
}

qb_status cmd_tune(cli *c) {
    char *json;
    qb_status status = qb_tune(&c->options.tune, &c->env, &json);
    if (status != QB_OK) return status;
    finish_progress();
    if (c->options.run.json) {
        status = give_result(c, strdup(json));
    } else {
        cJSON *root = cJSON_Parse(json);
        const cJSON *row;
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(root, "kernels")) print_row(row);
        printf("kept in %s\n", cJSON_GetObjectItem(root, "file")->valuestring);
        cJSON_Delete(root);
    }
    qb_text_free(json);
    return status;
}
