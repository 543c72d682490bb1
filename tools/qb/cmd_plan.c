/* SPDX-License-Identifier: MIT */
#include "cli.h"

/* Only reached as a bare `qb plan`: main() turns `qb plan VERB` into VERB --dry-run. */
qb_status cmd_plan(cli *c) {
    (void)c;
    return complain(QB_BAD_ARGUMENT, "plan what? usage: qb plan fbp SCAN -o OUT");
}
