/* SPDX-License-Identifier: MIT */
/* Verbs that are one call of the library: plan, project, simulate, convert and bench. */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

/* Reached only by `qb plan` without a verb: main() turns `qb plan VERB` into `qb VERB --dry-run`. */
qb_status cmd_plan(cli *c) {
    (void)c;
    return complain(QB_BAD_ARGUMENT, "plan what? usage: qb plan fbp SCAN -o OUT");
}

qb_status cmd_project(cli *c) {
    qb_job *job = NULL;
    qb_status status = qb_project_plan(c->argument[0], &c->options.geometry, &c->options.project, &c->options.output,
                                       c->command, &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job, NULL, NULL);
    qb_job_destroy(job);
    return status;
}

qb_status cmd_simulate(cli *c) {
    const qb_simulate_options *scan = &c->options.simulate;
    qb_status status = qb_simulate(c->argument[0], scan, &c->env);
    if (status != QB_OK || !c->options.run.json) return status;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "output", scan->output);
    if (scan->truth) cJSON_AddStringToObject(root, "truth", scan->truth);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

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

qb_status cmd_bench(cli *c) {
    char *json;
    qb_status status =
        qb_tool_bench(c->argument[0], c->count > 1 ? c->argument[1] : NULL, &c->options.bench, &c->env, &json);
    if (status != QB_OK) return status;
    if (c->options.run.json && !is_silent()) {
        status = give_result(c, strdup(json));
    } else {
        finish_progress();
        if (!is_silent()) puts(json);
    }
    qb_text_free(json);
    return status;
}
