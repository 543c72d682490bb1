/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include "cli.h"

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
