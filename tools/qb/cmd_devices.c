/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

qb_status cmd_devices(cli *c) {
    char *json;
    qb_status status = qb_devices_describe(&c->env, &json);
    if (status != QB_OK) return status;
    if (c->options.run.json) {
        status = give_result(c, strdup(json));
    } else {
        puts(json);
        for (size_t i = 0; i < qb_format_count(); i++) printf("%s\n", qb_format_line(i));
    }
    qb_text_free(json);
    return status;
}
