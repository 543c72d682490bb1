/* SPDX-License-Identifier: MIT */
/* A check of a few rows of a few views, the same for every method and engine, before streaming: do the values mean what
 * is stated (prep/levels_said.c), and is the object wider or taller than the detector? */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "io/scan/scan.h"
#include "prep/levels_said.h"
#include "prep/row_shift.h"
#include "recon/reconstruction_parts.h"

enum { LEAST_ROOM = 2 << 20 /* bytes, of the smallest jobs */ };

static qb_status look(qb__reconstruction *r, size_t row0, size_t row1, size_t step, qb__lines_look *lines) {
    const qb__decision *d = &r->decision;
    const qb__row_sample place = {.row0 = row0,
                                  .row1 = row1,
                                  .step = step,
                                  .held0 = d->row0,
                                  .held1 = d->row1,
                                  .view0 = r->share.view0,
                                  .view1 = r->share.view0 + r->share.views,
                                  .room = qb__look_room(r)};
    qb__digest_detach(&r->task.scan->digests, &r->job.digest); /* not hashed here; the streaming pass does it */
    const qb_status status = qb__line_ends_look(r->task.scan, r->prepare, &place, lines);
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    return status;
}

/* Each rank checks its own rows; the first rank with a row reports. */
static qb_status look_together(qb__reconstruction *r, size_t row0, size_t row1, size_t step, qb__lines_look *lines) {
    const size_t ranks = (size_t)qb__comm_count(r->comm);
    qb__lines_look *all = NULL;
    *lines = (qb__lines_look){0};
    qb_status status = qb__alloc(ranks, sizeof *all, &all);
    if (status == QB_OK) status = look(r, row0, row1, step, lines);
    status = qb__comm_gather(r->comm, status, lines, sizeof *lines, all);
    for (size_t i = ranks; status == QB_OK && i-- > 0;) {
        for (size_t n = 0; n < QB__SAMPLE_LINES; n++) {
            if (all[i].end[n].looked) lines->end[n] = all[i].end[n];
            if (all[i].levels[n].values) lines->levels[n] = all[i].levels[n];
            if (all[i].mass[n].looked) lines->mass[n] = all[i].mass[n];
        }
        lines->transposed |= all[i].transposed;
    }
    qb__free(all);
    return status;
}

static void judge_ends(qb__reconstruction *r, const qb__lines_look *lines, const qb_env *env) {
    const qb__truncation_check *asked = &r->decision.ends;
    qb__line_ends_cut cut;
    if (!asked->remedy[0] || !(asked->ends.count[0] || asked->ends.count[1])) return;
    qb__line_ends_judge(lines->end, asked->ends.count,
                        r->task.info->quantity == QB_LINE_INTEGRAL ? 0 : qb__least_object, &cut);
    if (!cut.much) return;
    qb__truncation_warn_rows(asked, &cut, env, r->job.report);
}

/* The rows at either end of the detector show an object: it continues above or below. */
static qb_status judge_columns(qb__reconstruction *r, qb__lines_look *lines, double top, const qb_env *env) {
    const qb__decision *d = &r->decision;
    const size_t row0 = r->share.row0, row1 = r->share.row1, few = qb__smaller(3, row1 - row0);
    unsigned held = 0;
    if (!d->ends.columns[0] || row1 - row0 < 4) return QB_OK;
    for (int side = 0; side < 2; side++) {
        QB__OR_RETURN(look_together(r, side ? row1 - few : row0, side ? row1 : row0 + few, 1, lines));
        held |= qb__column_end_held(lines, top) ? 1U << side : 0;
    }
    if (!held) return QB_OK;
    qb__truncation_warn_columns(&d->ends, held, env, r->job.report);
    return QB_OK;
}

/* fan->other_sense is the factor by which opposite rays agree better in the other sense of rotation. It is below 1, for
 * any noise, if the turn is as stated. The width of the fan is the pitch of the columns divided by the distance to the
 * detector. */
static void judge_fan(const qb__reconstruction *r, const qb__center_fan_shown *fan, const qb__center_look *asked,
                      const qb_env *env) {
    const double SURE = 1.1, BETTER = asked->leans ? 2 : 1.4, WIDER = 1.25;
    const char *file = r->decision.turn.geometry ? r->decision.turn.geometry->read_from : NULL;
    if (fan->other_sense > SURE)
        qb__warn(
            env,
            "opposite rays agree %.3g times better if it turned the other way, or if images are mirrored: %s" QB__CODE(
                "turn-sense"),
            fan->other_sense, file ? "check the geometry file" : "give --angles with the other sign");
    else if (!asked->moves && fan->better > BETTER && (fan->wide > WIDER || fan->wide < 1 / WIDER))
        qb__warn(env,
                 "opposite rays agree %.2g times better if the fan is %.2g times as wide: check %s (%.3g mm?) and the "
                 "pixel size (%.3g mm?)" QB__CODE("fan-width"),
                 fan->better, fan->wide, file ? "the geometry file's sdd" : "--sdd", asked->sdd / fan->wide,
                 asked->pixel * fan->wide);
}

/* Check the stated axis: views half a turn apart are mirror images about the axis. A rank without all views does not
 * report. */
static qb_status judge_axis(qb__reconstruction *r, const qb__opposites *opposites, const qb_env *env) {
    const double SURE = 0.9, FAR = 1,
                 FAR_PARALLEL = 0.45; /* half a pixel too much is reported: N / 2 instead of (N - 1) / 2 */
    const size_t ranks = (size_t)qb__comm_count(r->comm), views = r->task.info->views;
    qb__center_shown found = {.axis = {NAN, 0}}, *all = NULL;
    qb__center_look asked;
    double *radians = NULL, stated = NAN;
    qb_status status;
    if (r->decision.axis_found || (!r->decision.turn.geometry && !r->decision.axis_stated)) return QB_OK;
    if (opposites->unlike > 0) return QB_OK; /* such views show no axis */
    status = qb__alloc(views, sizeof *radians, &radians);
    if (status == QB_OK) status = qb__alloc(ranks, sizeof *all, &all);
    if (status == QB_OK) qb__axis_asked(r, &asked, &stated, radians);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && !isnan(stated) && r->share.views == views)
        status = qb__center_look_at(r->task.scan, r->prepare, &asked, r->running.pool, env, &found);
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    QB__TRY(qb__comm_gather(r->comm, status, &found, sizeof found, all));
    for (size_t i = ranks; i-- > 0;)
        if (all[i].axis.confidence >= SURE) found = all[i];
    judge_fan(r, &found.fan, &asked, env);
    const double far = asked.sod > 0 ? FAR : FAR_PARALLEL;
    /* Near the edge of the detector views overlap little, so a single method is not trusted. */
    const double wide = (double)r->task.info->columns;
    const bool rim = found.axis.confidence <= SURE && fabs(found.axis.column - 0.5 * (wide - 1)) > 0.3 * wide;
    const bool sure = found.axis.confidence >= SURE && !rim;
    const double column = sure ? found.axis.column : opposites->column;
    if (isnan(column) || !(fabs(column - stated) > far)) goto out;
    char how[40] = "";
    if (sure) qb__print(how, sizeof how, " (confidence %.2f)", found.axis.confidence);
    qb__warn(env, "by opposite views the axis is at column %.2f%s, not at %.2f as stated: %s" QB__CODE("axis-differs"),
             qb__column_whole(r->task.info, column), how, qb__column_whole(r->task.info, stated),
             r->decision.turn.geometry && r->decision.turn.geometry->read_from ? "check the geometry file"
             : asked.sod > 0 ? "give --center auto, or --detector-offset auto if that option was given"
                             : "give --center auto");
out:
    QB__FREE(radians, all);
    return status;
}

/* Does the object stay at its height, and are the axes in the right order? A rank without all views, or with a part of
 * the rows, does not report. */
static qb_status judge_frames(qb__reconstruction *r, qb__row_shift *shown) {
    const qb__decision *d = &r->decision;
    const size_t ranks = (size_t)qb__comm_count(r->comm);
    const double OFF = 2, MOVES = 0.5; /* pixels from an ideal circle; rows */
    qb__row_shift found = {0}, *all = NULL;
    qb__circle circle;
    qb__wander wander;
    qb__row_beam beam = d->turn.geometry ? QB__ROW_OTHER : QB__ROW_PARALLEL;
    if (d->turn.geometry && d->turn.geometry->beam == QB_BEAM_CONE &&
        qb__circle_fit(d->turn.geometry, &circle) == QB_OK && circle.error < OFF)
        beam = QB__ROW_CIRCLE;
    if (d->turn.geometry && !(qb__circle_wander(d->turn.geometry, &wander) == QB_OK && wander.rows < MOVES))
        beam = QB__ROW_MOVES;
    const bool whole = r->share.views == r->task.info->views && (ranks == 1 || d->row1 - d->row0 == r->task.info->rows);
    qb_status status = qb__alloc(ranks, sizeof *all, &all);
    qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && whole && d->row_step <= 1)
        status = qb__row_shift_find(r->task.scan, r->prepare, d->row0, d->row1, beam, qb__look_room(r), &found);
    qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    status = qb__comm_gather(r->comm, status, &found, sizeof found, all);
    for (size_t i = ranks; status == QB_OK && i-- > 0;)
        if (all[i].rows != 0 || all[i].interlaced != 0 || *all[i].order) found = all[i];
    *shown = found;
    qb__free(all);
    return status;
}

/* Not for an array in a device's memory, which would need hundreds of small copies. */
qb_status qb__reconstruction_look(qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    qb__lines_look *lines;
    double top = 0;
    qb__opposites opposites;
    const bool modular = d->turn.geometry && qb__is_modular(d->turn.geometry);
    if (!r->task.scan || qb__scan_on_device(r->task.scan)) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *lines, &lines);
    if (status != QB_OK) return status;
    QB__TRY(look_together(r, r->share.row0, r->share.row1, d->row_step ? d->row_step : 1, lines));
    qb__levels_asked asked = d->levels;
    qb__row_shift shift = {0};
    QB__TRY(judge_frames(r, &shift));
    asked.order = *shift.order;
    asked.zingers = r->prep.zingers > 0;
    asked.gains = qb__levels_warn_gains(r->task.scan, &r->prep, env);
    QB__TRY(qb__levels_judge(r->task.info, lines, &asked, &top,
                             env)); /* what must be refused is refused before other messages */
    qb__row_shift_warn(&shift, env);
    qb__levels_warn_hardening(&r->prep, lines, env);
    if (!modular) judge_ends(r, lines, env);
    QB__TRY(qb__reconstruction_look_turn(r, lines, env, &opposites));
    QB__TRY(judge_columns(r, lines, top, env)); /* overwrites the lines */
    QB__TRY(judge_axis(r, &opposites, env));
    QB__TRY(qb__reconstruction_look_height(r, qb__larger(LEAST_ROOM, qb__look_room(r)), env));
out:
    qb__free(lines);
    return status;
}
