/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include "cli.h"

static qb_status as_json(cli *c, const qb_hardening_result *found) {
    cJSON *root = cJSON_CreateObject();
    const double curve[2] = {found->a, found->b};
    cJSON_AddItemToObject(root, "hardening", cJSON_CreateDoubleArray(curve, 2));
    cJSON_AddNumberToObject(root, "most", found->most);
    cJSON_AddNumberToObject(root, "loss", found->loss);
    cJSON_AddNumberToObject(root, "rms", found->rms);
    cJSON_AddNumberToObject(root, "column", found->column);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

qb_status cmd_hardening(cli *c) {
    qb_scan *scan;
    qb_hardening_result found = {.struct_size = sizeof found};
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = qb_hardening_find(scan, &c->options.prep, &c->options.center, &c->env, &found);
    qb_scan_close(scan);
    finish_progress();
    if (status == QB_OK && found.warning[0]) c->env.log(c->env.user, QB_LOG_WARNING, found.warning);
    if (status != QB_OK || c->options.run.json) return status == QB_OK ? as_json(c, &found) : status;
    printf("--hardening %.5g,%.5g\n", found.a, found.b);
    printf("  line integrals up to %.3g, where %.2g %% are missing; %.2g %% stray from the curve\n", found.most,
           100 * found.loss, 100 * found.rms);
    return QB_OK;
}
