/* SPDX-License-Identifier: MIT */
/* Check that the views turn as their angles state, from a few rows before streaming. */
#include "recon/reconstruction_parts.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "io/scan/scan.h"
#include "prep/line_mass.h"
#include "prep/view_steps.h"

size_t qb__look_room(const qb__reconstruction *r) {
    enum { MOST = 32 << 20 };
    return qb__smaller(MOST, r->pick.memory > r->held ? (r->pick.memory - r->held) / 2 : 0);
}

/* A detector that is tilted equally in all views: its middle row shows the axis and the sense of rotation, too. */
static bool leans_evenly(const qb_geometry *g, const qb__circle *circle, const double *radians) {
    const double OFF = 0.1, MOST = 0.03; /* pixels; of the columns, about 3 degrees */
    const qb_view *first = &g->view[0];
    if (!(circle->error < MOST * (double)g->columns)) return false;
    for (size_t i = 1; i < g->views; i++) {
        const double c = cos(radians[i] - radians[0]), s = sin(radians[i] - radians[0]);
        const double *const was[4] = {first->source, first->detector, first->u, first->v};
        const double *const is[4] = {g->view[i].source, g->view[i].detector, g->view[i].u, g->view[i].v};
        for (int k = 0; k < 4; k++) {
            const double unit = k < 2 ? circle->pixel_u : circle->pixel_u / (double)g->columns;
            const double x = c * was[k][0] - s * was[k][1], y = s * was[k][0] + c * was[k][1];
            if (hypot(x - is[k][0], y - is[k][1]) > OFF * unit || fabs(was[k][2] - is[k][2]) > OFF * unit) return false;
        }
    }
    return true;
}

void qb__axis_asked(const qb__reconstruction *r, qb__center_look *asked, double *stated, double *radians) {
    enum { LEAST = 2 << 20 /* bytes, of the smallest jobs */ };
    const double OFF = 1, STRAIGHT = 0.25; /* pixels from an ideal circle */
    const qb__decision *d = &r->decision;
    const qb_scan_info *info = r->task.info;
    const qb_geometry *geometry = d->turn.geometry;
    qb__circle circle;
    *asked = (qb__center_look){.radians = radians, .middle = NAN, .row0 = d->row0, .row1 = d->row1};
    asked->room = qb__larger(LEAST, qb__look_room(r));
    qb__scan_rows_seen(r->task.scan, &asked->row0, &asked->row1);
    *stated = NAN;
    if (geometry) {
        if (qb__circle_fit(geometry, &circle) != QB_OK) return;
        qb__view_angles(geometry, radians);
        asked->leans = !(circle.error < STRAIGHT);
        const bool even = circle.beam == QB_BEAM_CONE && leans_evenly(geometry, &circle, radians);
        asked->moves = asked->leans && !even;
        if (!(circle.error < OFF) && !even) return;
        *stated = circle.column;
        asked->sod = circle.sod, asked->sdd = circle.sdd, asked->pixel = circle.pixel_u;
        if (!geometry->apart) asked->middle = circle.row;
    } else if (d->axis_stated && info->angles) {
        memcpy(radians, info->angles, info->views * sizeof *radians);
        *stated = *d->axis;
    }
}

/* Parallel rays: check that opposite views are mirror images of one another. A rank without all views does not report.
 * told: a warning about the angles was printed already. */
static qb_status judge_opposites(qb__reconstruction *r, const qb_env *env, bool told, qb__opposites *shown) {
    const size_t ranks = (size_t)qb__comm_count(r->comm), views = r->task.info->views;
    qb__opposites found = {.column = NAN}, *all = NULL;
    qb__center_look asked;
    double *radians = NULL, stated = NAN;
    *shown = found;
    if (!r->decision.turn.geometry && !r->decision.axis_stated) return QB_OK;
    qb_status status = qb__alloc(views, sizeof *radians, &radians);
    if (status == QB_OK) status = qb__alloc(ranks, sizeof *all, &all);
    if (status == QB_OK) qb__axis_asked(r, &asked, &stated, radians);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && !isnan(stated) && asked.sod == 0 && r->share.views == views) {
        const qb__opposites_asked about = {
            .radians = radians, .column = stated, .row0 = asked.row0, .row1 = asked.row1, .room = qb__look_room(r)};
        status = qb__opposites_find(r->task.scan, r->prepare, &about, &found);
    }
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    status = qb__comm_gather(r->comm, status, &found, sizeof found, all);
    for (size_t i = ranks; status == QB_OK && i-- > 0;)
        if (all[i].unlike > 0 || all[i].lean != 0 || all[i].turn != 0 || !isnan(all[i].column)) found = all[i];
    if (status == QB_OK) qb__opposites_warn(&found, told, env);
    *shown = found;
    QB__FREE(radians, all);
    return status;
}

/* Check that images change evenly from view to view. A rank without all views does not report. */
static qb_status judge_steps(qb__reconstruction *r, const qb_env *env, qb__view_steps *shown) {
    const size_t ranks = (size_t)qb__comm_count(r->comm), views = r->task.info->views;
    const qb__decision *d = &r->decision;
    const double OFF = 2, MOVES = 0.5; /* pixels from an ideal circle; from a view to the next */
    qb__wander wander;
    qb__view_steps found = {0}, *all = NULL;
    double *radians = NULL;
    qb__circle circle;
    *shown = found;
    if (!d->turn.geometry && !d->turn.radians) return QB_OK;
    if (d->turn.geometry && !(qb__circle_wander(d->turn.geometry, &wander) == QB_OK && wander.step < MOVES))
        return QB_OK; /* images move for another reason */
    const bool closes = !d->turn.geometry || (qb__circle_fit(d->turn.geometry, &circle) == QB_OK && circle.error < OFF);
    qb_status status = qb__alloc(views, sizeof *radians, &radians);
    if (status == QB_OK) status = qb__alloc(ranks, sizeof *all, &all);
    if (status == QB_OK && d->turn.radians) memcpy(radians, d->turn.radians, views * sizeof *radians);
    if (status == QB_OK && !d->turn.radians) qb__view_angles(d->turn.geometry, radians);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && r->share.views == views)
        status = qb__view_steps_find(r->task.scan, r->prepare, radians, closes, d->row0, d->row1, &found);
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    status = qb__comm_gather(r->comm, status, &found, sizeof found, all);
    for (size_t i = ranks; status == QB_OK && i-- > 0;)
        if (all[i].jumps || qb__view_steps_misfit(&all[i]) || all[i].closes != 0) found = all[i];
    if (status == QB_OK) qb__view_steps_warn(&found, env);
    *shown = found;
    QB__FREE(radians, all);
    return status;
}

/* Check whether the last view repeats the first one, or the one before it. A rank without all views does not report. */
static qb_status judge_view_ends(qb__reconstruction *r, const qb_env *env, bool *told) {
    const double OFF = 1; /* pixels from an ideal circle */
    const size_t ranks = (size_t)qb__comm_count(r->comm), views = r->task.info->views;
    const qb_geometry *geometry = r->decision.turn.geometry;
    qb__view_ends found = {0}, *all = NULL;
    qb__center_look asked;
    qb__circle circle;
    double *radians = NULL, stated = NAN;
    if (!geometry && !r->decision.axis_stated) return QB_OK;
    if (geometry && (qb__circle_fit(geometry, &circle) != QB_OK || !(circle.error < OFF))) return QB_OK;
    qb_status status = qb__alloc(views, sizeof *radians, &radians);
    if (status == QB_OK) status = qb__alloc(ranks, sizeof *all, &all);
    if (status == QB_OK) qb__axis_asked(r, &asked, &stated, radians);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && !isnan(stated) && r->share.views == views) {
        const qb__view_ends_of about = {
            .radians = radians, .parallel = asked.sod == 0, .column = stated, .row0 = asked.row0, .row1 = asked.row1};
        status = qb__view_ends_find(r->task.scan, r->prepare, &about, &found);
    }
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    status = qb__comm_gather(r->comm, status, &found, sizeof found, all);
    for (size_t i = ranks; status == QB_OK && i-- > 0;)
        if (all[i].steps) found = all[i];
    if (status == QB_OK) qb__view_ends_warn(&found, env);
    *told |= found.steps != 0;
    QB__FREE(radians, all);
    return status;
}

qb_status qb__reconstruction_look_turn(qb__reconstruction *r, const qb__lines_look *lines, const qb_env *env,
                                       qb__opposites *opposites) {
    const qb__turn_asked *turn = &r->decision.turn;
    qb__view_steps steps = {0};
    if (!turn->geometry || !qb__is_modular(turn->geometry)) QB__OR_RETURN(judge_steps(r, env, &steps));
    bool told = qb__view_steps_misfit(&steps);
    if (!told) QB__OR_RETURN(qb__turn_check(lines->mass, turn, r->task.info->views, env, r->job.report, &told));
    if (!told) qb__view_closing_warn(steps.closes, steps.gap, env);
    told |= steps.closes != 0;
    if (!told) QB__OR_RETURN(judge_view_ends(r, env, &told));
    if (!told && turn->radians && !turn->geometry && !turn->cone)
        qb__view_sums_warn(qb__view_sums_swing(lines->mass, r->task.info->columns), env);
    return judge_opposites(r, env, told, opposites);
}
