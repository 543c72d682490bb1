/* SPDX-License-Identifier: MIT */
/* What a reconstruction would say of a scan's numbers, as problems of the scan. */
#include <string.h>

#include "base/array.h"
#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan.h"
#include "prep/levels_said.h"
#include "quickbeam/recon.h"

/* A warning becomes a problem. */
static void note(void *user, qb_log_level level, const char *text) {
    qb_scan *scan = user;
    if (level == QB_LOG_WARNING) qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS, "%s", text);
}

static qb_status look(qb_scan *scan, const qb__prepare *prepare, qb__lines_look *lines) {
    enum { ROOM = 4 << 20 };
    const qb_scan_info *info = &scan->info;
    const size_t view =
        info->rows * info->columns * (qb_dtype_size(info->dtype) + sizeof(float)); /* that qb_scan_inspect() held */
    const qb__few_lines where = {
        .row1 = info->rows, .step = 1, .held1 = info->rows, .view1 = info->views, .room = qb__smaller(ROOM, view)};
    return qb__line_ends_look(scan, prepare, &where, lines);
}

/* What is refused is a problem, too: the reason stands behind the path. */
static void note_refusal(qb_scan *scan) {
    const char *why = qb_detail();
    const size_t path = strlen(scan->info.path);
    if (strncmp(why, scan->info.path, path) == 0 && strncmp(why + path, ": ", 2) == 0) why += path + 2;
    qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS, "%s" QB__CODE("other-quantity"), why);
}

qb_status qb_scan_check(qb_scan *scan, const qb_env *env) {
    QB__NEED(scan);
    QB__CALL();
    const qb_env quiet = {.struct_size = sizeof quiet, .cancel = env ? env->cancel : NULL};
    const qb_env noting = {.struct_size = sizeof noting, .log = note, .user = scan};
    qb_prep_options options;
    qb__prepare *prepare = NULL;
    qb__lines_look *lines = NULL;
    double top;
    qb_status status = qb__env_check(env);
    if (status != QB_OK) return status;
    if (qb__scan_on_device(scan) || *scan->refused) return QB_OK;
    QB__TRY(qb_params_init(qb_prep_params, &options));
    QB__TRY(qb__alloc(1, sizeof *lines, &lines));
    if (scan->info.quantity != QB_COUNTS || scan->info.flats) {
        status =
            qb__prepare_create(scan, &options, &(qb__prepared){.row1 = scan->info.rows, .step = 1}, &quiet, &prepare);
        if (status == QB_BAD_INPUT) { /* fields that cannot be used have their own problem */
            status = QB_OK;
            goto out;
        }
    }
    if (status == QB_OK) status = look(scan, prepare, lines);
    if (status != QB_OK) goto out;
    status = qb__levels_judge(&scan->info, lines, NULL, &top, &noting);
    if (status == QB_BAD_INPUT) {
        note_refusal(scan);
        status = QB_OK;
    }
    scan->info.problems = scan->parts.notes.count;
out:
    qb__prepare_destroy(prepare);
    qb__free(lines);
    return status;
}
