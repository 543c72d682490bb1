/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

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
