/* SPDX-License-Identifier: MIT */
/* --hardening fit: finds the curve in the scan, as qb hardening does, and sets the option to it. */
#include <string.h>

#include "cli.h"

qb_status fit_hardening(cli *c, qb_scan *scan) {
    const char *asked = c->options.prep.hardening;
    qb_hardening_result found = {.struct_size = sizeof found};
    qb_center_options center;
    void *target;
    char text[96], said[200];
    const char *file = c->verb->run == cmd_fbp ? c->options.fbp.geometry : c->options.geometry.geometry;
    if (!asked || strcmp(asked, "fit") != 0) return QB_OK;
    if (c->verb->run == cmd_hardening || c->verb->run == cmd_center)
        return complain(QB_BAD_ARGUMENT, "--hardening fit: qb hardening finds the curve; leave this option out");
    if (qb_ranks_count(c->env.ranks) > 1)
        return complain(QB_UNSUPPORTED, "--hardening fit is of one process: give what qb hardening prints");
    if (file && strcmp(file, "parallel") != 0 && strcmp(file, "cone") != 0)
        return complain(QB_UNSUPPORTED, "--hardening fit takes no geometry file: give what qb hardening prints");
    qb_status status = qb_params_init(qb_center_params, &center);
    if (status != QB_OK) return status;
    center.sod = c->options.geometry.sod, center.sdd = c->options.geometry.sdd;
    status = qb_hardening_find(scan, &c->options.prep, &center, &c->env, &found);
    qb_params_clear(qb_center_params, &center);
    finish_progress();
    if (status != QB_OK) return status;
    if (found.warning[0]) c->env.log(c->env.user, QB_LOG_WARNING, found.warning);
    snprintf(text, sizeof text, "%.5g,%.5g", found.a, found.b);
    snprintf(said, sizeof said, "--hardening fit found %s: the longest line integral, %.3g, was %.2g %% too low", text,
             found.most, 100 * found.loss);
    c->env.log(c->env.user, QB_LOG_INFO, said);
    const qb_param *row = find_row(c, "hardening", 0, &target);
    return qb_param_set(row, target, text);
}
