/* SPDX-License-Identifier: MIT */
/* What a reconstruction would report about a scan's numbers, as problems of the scan. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/warning.h"
#include "geometry/parallel.h"
#include "prep/truncation/truncation.h"
#include "prep/cone_place.h"
#include "prep/levels_said.h"
#include "prep/phase.h"
#include "prep/turn_check.h"
#include "prep/row_shift.h"
#include "prep/view_ends.h"
#include "prep/view_steps.h"
#include "quickbeam/recon.h"

/* Turn a warning into a problem of the scan. */
static void note(void *user, qb_log_level level, const char *text) {
    qb_scan *scan = user;
    if (level == QB_LOG_WARNING) qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS, "%s", text);
}

/* Turn a refusal into a problem of the scan: the reason follows the path in its message. */
static void note_refusal(qb_scan *scan) {
    const char *why = qb_detail();
    const size_t path = strlen(scan->info.path);
    if (strncmp(why, scan->info.path, path) == 0 && strncmp(why + path, ": ", 2) == 0) why += path + 2;
    qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS, "%s" QB__CODE("other-quantity"), why);
}

/* Check that rows end in air. A single side may miss air without error: a full turn measures from there what the other
 * side lacks. */
static qb_status judge_rows(qb_scan *scan, const qb__lines_look *lines, const qb_env *env) {
    const qb_scan_info *info = &scan->info;
    qb__line_ends_cut cut;
    double covered = 0;
    bool full = false;
    qb__line_ends_judge(lines->end, (const bool[2]){true, true},
                        info->quantity == QB_LINE_INTEGRAL ? 0 : qb__least_object, &cut);
    if (!cut.much) return QB_OK;
    const double left = cut.share[0], right = cut.share[1];
    const bool one_side = fmin(left, right) < 0.25 * fmax(left, right);
    if (one_side && info->angles) QB__OR_RETURN(qb__turns_fully(info->views, info->angles, &full, &covered));
    if (one_side && (full || !info->angles)) return QB_OK;
    qb__truncation_check asked = {.ends.count = {true, true}};
    qb__print(asked.remedy, sizeof asked.remedy, "%s",
              one_side ? "half acquisition needs 360 degrees of views; else --pad ellipse"
                       : "--pad ellipse, or a larger --size of sirt, cgls and mbir");
    qb__truncation_warn_rows(&asked, &cut, env, NULL);
    return QB_OK;
}

/* Check the ends of columns. They are no problem for fdk, where only the end slices are affected; sirt and cgls ask for
 * a taller volume. */
static qb_status judge_columns(qb_scan *scan, qb_scan *read, const qb__prepare *prepare, double top,
                               qb__lines_look *lines) {
    const size_t rows = scan->info.rows, few = qb__smaller(3, rows);
    unsigned held = 0;
    if (scan->info.beam != QB_BEAM_CONE || rows < 4) return QB_OK;
    for (int side = 0; side < 2; side++) {
        *lines = (qb__lines_look){0};
        QB__OR_RETURN(qb__levels_look(read, prepare, side ? rows - few : 0, side ? rows : few, lines));
        held |= qb__column_end_held(lines, top) ? 1U << side : 0;
    }
    if (held) scan->info.taller = qb__column_ends_words(held);
    return QB_OK;
}

/* Check the height of the detector, for a cone beam whose file states the positions of source and detector. */
static qb_status judge_height(qb_scan *scan, const qb__prepare *prepare, size_t room, int threads, const qb_env *env) {
    const qb_scan_info *info = &scan->info;
    const double *offset = info->detector_offset, pitch[2] = {info->pixel_size, info->pixel_v};
    qb__cone_height found;
    if (info->beam != QB_BEAM_CONE || !(info->sod > 0) || !(pitch[0] > 0) || !(pitch[1] > 0)) return QB_OK;
    if (info->whole_rows != info->rows || info->whole_columns != info->columns)
        return QB_OK; /* offsets are those of the whole detector */
    if (info->geometry_from || info->detector_tilt != 0 || !info->angles) return QB_OK;
    qb__circle circle = {.beam = QB_BEAM_CONE,
                         .sod = info->sod,
                         .sdd = info->sdd,
                         .pixel_u = pitch[0],
                         .pixel_v = pitch[1],
                         .column = 0.5 * ((double)info->columns - 1),
                         .row = 0.5 * ((double)info->rows - 1)};
    if (isfinite(offset[0])) circle.column -= offset[0] / pitch[0];
    if (isfinite(offset[1])) circle.row -= offset[1] / pitch[1];
    qb__pool *pool;
    QB__OR_RETURN(qb__pool_create(threads, &pool));
    qb_status status = qb__cone_height_find(scan, prepare, &circle, info->angles, 0, info->rows, room, pool, &found);
    if (status == QB_OK) qb__cone_height_warn(&found, &circle, false, env);
    qb__pool_destroy(pool);
    return status;
}

qb_status qb_scan_check(qb_scan *scan, const qb_env *env) {
    QB__NEED(scan);
    QB__CALL();
    const qb_env quiet = {.struct_size = sizeof quiet, .cancel = env ? env->cancel : NULL};
    const qb_env noting = {.struct_size = sizeof noting, .log = note, .user = scan};
    enum { ROOM = 32 << 20 };
    qb_prep_options options;
    qb__prepare *prepare = NULL;
    qb__phase *phase = NULL;
    qb__lines_look *lines = NULL;
    double top;
    qb_status status = qb__env_check(env);
    if (status != QB_OK) return status;
    if (qb__scan_on_device(scan) || *scan->refused) return QB_OK;
    QB__TRY(qb__params_view(qb_prep_params, NULL, &options));
    QB__TRY(qb__alloc(1, sizeof *lines, &lines));
    const bool lines_known = scan->info.quantity != QB_COUNTS || scan->info.flats;
    if (lines_known)
        QB__TRY(qb__phase_create(scan, NULL, &options, &quiet, &phase)); /* views that moved are moved back */
    qb_scan *const read = qb__phase_scan(phase, scan);
    size_t row0 = 0, row1 = scan->info.rows;
    qb__scan_rows_seen(scan, &row0, &row1);
    if (lines_known) {
        status =
            qb__prepare_create(read, &options, &(qb__prepared){.row1 = scan->info.rows, .step = 1}, &quiet, &prepare);
        if (status == QB_BAD_INPUT) { /* flats and darks that cannot be used have their own problem */
            status = QB_OK;
            goto out;
        }
    }
    if (status == QB_OK) status = qb__levels_look(read, prepare, 0, scan->info.rows, lines);
    if (status != QB_OK) goto out;
    qb__row_shift shift = {0};
    const qb__row_beam beam = scan->info.beam == QB_BEAM_CONE ? QB__ROW_OTHER : QB__ROW_PARALLEL;
    if (prepare) QB__TRY(qb__row_shift_find(read, prepare, 0, scan->info.rows, beam, ROOM, &shift));
    qb__row_shift_warn(&shift, &noting);
    const qb__levels_asked asked = {
        .opaque = "transmission", .order = *shift.order, .gains = qb__levels_warn_gains(scan, &options, &noting)};
    status = qb__levels_judge(&scan->info, lines, &asked, &top, &noting);
    if (status == QB_BAD_INPUT) {
        note_refusal(scan);
        status = QB_OK;
    } else if (status == QB_OK && prepare) {
        QB__TRY(judge_rows(scan, lines, &noting));
        QB__TRY(judge_columns(scan, read, prepare, top, lines));
    }
    const qb__turn_asked turn = {.radians = scan->info.angles, .cone = scan->info.beam != QB_BEAM_PARALLEL};
    qb__view_steps jumps = {0};
    if (status == QB_OK && prepare && turn.radians)
        status = qb__view_steps_find(read, prepare, turn.radians, true, 0, scan->info.rows, &jumps);
    if (status == QB_OK) qb__view_steps_warn(&jumps, &noting);
    bool told = qb__view_steps_misfit(&jumps);
    if (status == QB_OK && !told) status = qb__turn_check(lines->mass, &turn, scan->info.views, &noting, NULL, &told);
    if (status == QB_OK && !told) qb__view_closing_warn(jumps.closes, jumps.gap, &noting);
    told |= jumps.closes != 0;
    if (status == QB_OK && !told && prepare && turn.radians) {
        const qb__view_ends_of about = {.radians = turn.radians,
                                        .parallel = !turn.cone,
                                        .column = qb__column_read(&scan->info, scan->info.center),
                                        .row0 = row0,
                                        .row1 = row1};
        qb__view_ends ends;
        QB__TRY(qb__view_ends_find(read, prepare, &about, &ends));
        qb__view_ends_warn(&ends, &noting);
        told = ends.steps != 0;
    }
    if (status == QB_OK && prepare && turn.radians && !turn.cone) {
        const qb__opposites_asked about = {.radians = turn.radians,
                                           .column = qb__column_read(&scan->info, scan->info.center),
                                           .row0 = row0,
                                           .row1 = row1,
                                           .room = ROOM};
        qb__opposites opposites;
        QB__TRY(qb__opposites_find(read, prepare, &about, &opposites));
        qb__opposites_warn(&opposites, told, &noting);
    }
    if (status == QB_OK && prepare && !told && turn.radians && !turn.cone)
        qb__view_sums_warn(qb__view_sums_swing(lines->mass, scan->info.columns), &noting);
    if (status == QB_OK && prepare) status = judge_height(read, prepare, ROOM, env ? env->threads : 0, &noting);
    scan->info.problems = scan->parts.notes.count;
out:
    qb__prepare_destroy(prepare);
    qb__phase_destroy(phase);
    qb__free(lines);
    return status;
}
