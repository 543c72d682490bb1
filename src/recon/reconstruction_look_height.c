/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/status.h"
#include "geometry/circle.h"
#include "io/scan/scan.h"
#include "prep/cone_place.h"
#include "recon/reconstruction_parts.h"

qb_status qb__reconstruction_look_height(qb__reconstruction *r, size_t room, const qb_env *env) {
    const double OFF = 0.5; /* pixels from an ideal circle */
    const qb__decision *d = &r->decision;
    const qb_geometry *geometry = d->turn.geometry;
    const size_t views = r->task.info->views;
    qb__cone_height found = {0};
    qb__circle circle;
    double *radians = NULL;
    if (!geometry || geometry->beam != QB_BEAM_CONE || geometry->radius != 0 || geometry->apart) return QB_OK;
    if (qb__circle_fit(geometry, &circle) != QB_OK || !(circle.error < OFF)) return QB_OK;
    if (d->row_step > 1 || r->share.views != views || qb__comm_count(r->comm) > 1) return QB_OK;
    QB__OR_RETURN(qb__alloc(views, sizeof *radians, &radians));
    qb__view_angles(geometry, radians);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    qb_status status = qb__cone_height_find(r->task.scan, r->prepare, &circle, radians, d->row0, d->row1, room,
                                            r->running.pool, &found);
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK) qb__cone_height_warn(&found, &circle, geometry->read_from, env);
    qb__free(radians);
    return status;
}
