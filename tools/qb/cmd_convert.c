/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include "cli.h"

qb_status cmd_convert(cli *c) {
    qb_scan *scan = NULL;
    char *report = NULL;
    qb_status status = open_scan(c, &scan);
    if (status == QB_OK)
        status = qb_convert_report(scan, &c->options.prep, &c->options.convert, c->command, &c->env, &report);
    qb_scan_close(scan);
    if (status == QB_OK && c->options.run.json) return give_result(c, report);
    cJSON_free(report);
    return status;
}
