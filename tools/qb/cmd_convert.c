/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include "cli.h"

qb_status cmd_convert(cli *c) {
    qb_scan *scan = NULL;
    qb_status status = open_scan(c, &scan);
    if (status == QB_OK) status = qb_convert(scan, &c->options.prep, &c->options.convert, c->command, &c->env);
    qb_scan_close(scan);
    if (status != QB_OK || !c->options.run.json) return status;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "output", c->options.convert.output);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}
