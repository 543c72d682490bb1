/* SPDX-License-Identifier: MIT */
/* qb as one of several processes, as in mpirun -n 4 qb fbp ... */
#include "cli.h"

static bool lost; /* this process could not join the others, so it must print its own error */

bool is_silent(void) {
    int rank, count;
    return qb_ranks_launched(&rank, &count) && rank > 0 && !lost;
}

qb_status open_ranks(cli *c) {
    int rank, count;
    if (!qb_ranks_launched(&rank, &count)) return QB_OK;
    char names[160];
    if (!(c->verb->abilities & SHARES))
        return complain(QB_UNSUPPORTED,
                        "started as %d processes, which only these verbs can share: %s (bench: of mpi); start it once, "
                        "without mpirun",
                        count, list_verbs(SHARES, names, sizeof names));
    const qb_status status = qb_ranks_open(&c->env.ranks);
    lost = status == QB_IO;
    return status;
}

qb_status agree_ranks(cli *c, qb_status status) {
    if (!c->env.ranks) return status;
    const qb_status all = qb_ranks_agree(c->env.ranks, status, status == QB_OK ? NULL : complaint());
    return all == QB_OK ? QB_OK : complain(all, "%s", qb_detail());
}
