/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>

#include "cli.h"

static void add_number(cJSON *object, const char *name, double value) {
    if (isnan(value)) {
        cJSON_AddNullToObject(object, name);
    } else {
        cJSON_AddNumberToObject(object, name, value);
    }
}

static qb_status as_json(cli *c, const qb_center_result *found, const char *findings) {
    cJSON *root = cJSON_CreateObject();
    add_number(root, "column", found->column);
    cJSON_AddNumberToObject(root, "confidence", found->confidence);
    cJSON *methods = cJSON_AddArrayToObject(root, "methods");
    for (int i = 0; i < found->count; i++) {
        cJSON *method = cJSON_CreateObject();
        cJSON_AddStringToObject(method, "name", found->method[i].name);
        add_number(method, "column", found->method[i].column);
        cJSON_AddNumberToObject(method, "confidence", found->method[i].confidence);
        cJSON_AddItemToArray(methods, method);
    }
    add_number(root, "tilt", found->tilt);
    if (!isnan(found->row)) {
        cJSON_AddNumberToObject(root, "tilt_confidence", found->tilt_confidence);
        cJSON_AddNumberToObject(root, "row", found->row);
        cJSON_AddNumberToObject(root, "row_confidence", found->row_confidence);
    }
    if (found->warning[0]) cJSON_AddStringToObject(root, "warning", found->warning);
    cJSON_AddItemToObject(root, "findings", cJSON_Parse(findings));
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

qb_status cmd_center(cli *c) {
    qb_scan *scan;
    qb_center_result found = {.struct_size = sizeof found};
    char *findings = NULL;
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    if (c->options.run.json) status = qb_scan_findings(scan, &findings);
    if (status == QB_OK) status = qb_center_find(scan, &c->options.prep, &c->options.center, &c->env, &found);
    qb_scan_close(scan);
    if (status == QB_OK && found.warning[0]) c->env.log(c->env.user, QB_LOG_WARNING, found.warning);
    if (status == QB_OK && c->options.run.json) status = as_json(c, &found, findings);
    qb_text_free(findings);
    if (status != QB_OK || c->options.run.json) return status;
    finish_progress();
    printf("%-14s column %9.3f  confidence %.2f\n", "axis", found.column, found.confidence);
    if (!isnan(found.row)) {
        printf("%-14s row    %9.3f  confidence %.2f\n", "level ray", found.row, found.row_confidence);
        printf("%-14s %.3f degrees     confidence %.2f\n", "turn", found.tilt, found.tilt_confidence);
    } else if (!isnan(found.tilt)) {
        printf("%-14s %.3f degrees\n", "tilt", found.tilt);
    }
    for (int i = 0; i < found.count; i++) {
        if (isnan(found.method[i].column))
            printf("  %-12s finds none\n", found.method[i].name);
        else
            printf("  %-12s column %9.3f  confidence %.2f\n", found.method[i].name, found.method[i].column,
                   found.method[i].confidence);
    }
    return QB_OK;
}
