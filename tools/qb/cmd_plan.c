/* SPDX-License-Identifier: MIT */
#include "cli.h"

/* Reached only by `qb plan` without a verb: main() turns `qb plan VERB` into `qb VERB --dry-run`. */
qb_status cmd_plan(cli *c) {
    (void)c;
    return complain(QB_BAD_ARGUMENT, "plan what? usage: qb plan fbp SCAN -o OUT");
}
