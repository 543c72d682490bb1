/* SPDX-License-Identifier: MIT */
#include "cli.h"

qb_status cmd_simulate(cli *c) {
    return qb_simulate(c->argument[0], &c->options.simulate, &c->env);
}
