/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include "cli.h"

/* Is the input a volume? The file's stated quantity decides, unless an option says that it is a scan. */
static bool wants_volume(const cli *c) {
    const qb_scan_options *scan = &c->options.scan;
    qb_array_info info = {.struct_size = sizeof info};
    if (c->options.convert.volume) return true;
    if (scan->quantity || scan->angles || scan->as || scan->views || scan->shape) return false;
    return qb_array_describe(c->argument[0], scan->dataset, &info) == QB_OK && states_volume(info.quantity);
}

static qb_status convert_scan(cli *c, char **report) {
    qb_scan *scan = NULL;
    qb_status status = open_scan(c, &scan);
    if (status == QB_OK)
        status = qb_convert_report(scan, &c->options.prep, &c->options.convert, c->command, &c->env, report);
    qb_scan_close(scan);
    return status;
}

qb_status cmd_convert(cli *c) {
    char *report = NULL;
    const char *dataset = c->options.scan.dataset ? c->options.scan.dataset : c->options.scan.shape;
    qb_status status =
        wants_volume(c) ? qb_convert_volume(c->argument[0], dataset, &c->options.convert, c->command, &c->env, &report)
                        : convert_scan(c, &report);
    if (status == QB_OK && c->options.run.json) return give_result(c, report);
    cJSON_free(report);
    return status;
}
