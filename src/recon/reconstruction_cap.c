/* SPDX-License-Identifier: MIT */
/* The least memory that any rank has. */
#include "base/memory.h"
#include "base/status.h"
#include "recon/reconstruction_parts.h"

/* Report it only once: memory that a process holds meanwhile may make one rank search for a cut again, and another rank
 * not. */
static qb_status least_cap(qb__reconstruction *r, const qb__room *own) {
    uint64_t mine[2] = {own->host, own->device}, *all = NULL;
    qb_status status = qb__alloc((size_t)r->comm->count, sizeof mine, &all);
    status = qb__comm_gather(r->comm, status, mine, sizeof mine, all);
    for (size_t i = 0; status == QB_OK && i < 2 * (size_t)r->comm->count; i++)
        if (all[i] < mine[i % 2]) mine[i % 2] = all[i];
    r->share.cap = (qb__room){.host = (size_t)mine[0], .device = (size_t)mine[1]};
    qb__free(all);
    return status;
}

qb_status qb__ranks_cap(qb__candidate *c) {
    qb__reconstruction *r = c->r;
    qb__room *cap = &c->offer.space.cap;
    if (!r->share.ranks) return QB_OK;
    QB__OR_RETURN(r->share.cap_of == c->engine ? QB_OK : least_cap(r, cap));
    r->share.cap_of = c->engine;
    cap->host = qb__smaller(cap->host, r->share.cap.host);
    cap->device = qb__smaller(cap->device, r->share.cap.device);
    return QB_OK;
}
