/* SPDX-License-Identifier: MIT */
/* An object wider than the detector: no ray goes without a voxel, and nothing else would say so. Told from a few rows of a few
 * views, the same for every method and engine, before anything is streamed. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/scan.h"
#include "prep/line_ends.h"
#include "recon/reconstruction_parts.h"

/* An open beam that is 2 % off leaves 0.02 everywhere; units of given line integrals are whatever they are. */
static const double least = 0.03;

static void note(const qb__ends_asked *asked, const qb__line_ends_cut *cut, cJSON *report) {
    static const char *const name[] = {"left", "right"};
    cJSON *json = report ? cJSON_AddObjectToObject(report, "wider_than_detector") : NULL;
    for (int side = 0; json && side < 2; side++)
        if (asked->ends.count[side]) cJSON_AddNumberToObject(json, name[side], cut->share[side]);
    if (json) cJSON_AddNumberToObject(json, "of_largest", fmax(cut->level[0], cut->level[1]));
}

/* What is no air may also be what an open beam that was not measured reads. */
static void warn(const qb__ends_asked *asked, const qb__line_ends_cut *cut, const qb_env *env) {
    char where[160];
    const bool *count = asked->ends.count;
    const double left = 100 * cut->share[0], right = 100 * cut->share[1];
    if (count[0] && count[1])
        qb__print(where, sizeof where, "%.0f %% of rows do not end in air on the left (column 0), %.0f %% on the right", left, right);
    else
        qb__print(where, sizeof where, "%.0f %% of rows do not end in air on the %s",
                  count[0] ? left : right, count[0] ? "left (column 0)" : "right");
    qb__warn(env, "%s, but at %.0f %% of the largest values: the object is wider than the detector (%s), or air does not read 0 (--flats, --air)" QB__CODE("row-ends"),
             where, 100 * fmax(cut->level[0], cut->level[1]), asked->remedy);
}

/* In what streaming will take. */
static size_t room(const qb__reconstruction *r) {
    enum { MOST = 32 << 20 };
    return qb__smaller(MOST, r->pick.memory > r->held ? (r->pick.memory - r->held) / 2 : 0);
}

static qb_status look(qb__reconstruction *r, qb__line_end *lines) {
    const qb__decision *d = &r->decision;
    const qb__few_lines place = {.row0 = r->share.row0, .row1 = r->share.row1, .step = d->row_step ? d->row_step : 1,
                                       .held0 = d->row0,
                                       .held1 = d->row1, .view0 = r->share.view0, .view1 = r->share.view0 + r->share.views, .room = room(r)};
    qb__digest_leave(&r->task.scan->digests, &r->job.digest); /* whose lines these are is told by who streams them */
    const qb_status status = qb__line_ends_look(r->task.scan, r->prepare, &place, lines);
    qb__digest_join(&r->task.scan->digests, &r->job.digest);
    return status;
}

/* Of ranks each looks at what it has; the first that has a row tells of it. */
static qb_status look_together(qb__reconstruction *r, qb__line_end *lines) {
    const size_t ranks = (size_t)qb__comm_count(r->comm);
    qb__line_end *all = NULL;
    qb_status status = qb__alloc(ranks * QB__FEW_LINES, sizeof *all, &all);
    if (status == QB_OK) status = look(r, lines);
    status = qb__comm_gather(r->comm, status, lines, QB__FEW_LINES * sizeof *lines, all);
    for (size_t i = ranks * QB__FEW_LINES; status == QB_OK && i-- > 0;)
        if (all[i].looked) lines[i % QB__FEW_LINES] = all[i];
    qb__free(all);
    return status;
}

/* Not at an array in a device's memory, for which hundreds of small copies would be waited for. */
qb_status qb__ends_look(qb__reconstruction *r, const qb_env *env) {
    const qb__ends_asked *asked = &r->decision.ends;
    qb__line_end lines[QB__FEW_LINES] = {0};
    qb__line_ends_cut cut;
    if (!r->task.scan || qb__scan_on_device(r->task.scan) || r->decision.instead || !asked->remedy[0] || !(asked->ends.count[0] || asked->ends.count[1])) return QB_OK;
    const qb_status status = look_together(r, lines);
    if (status != QB_OK) return status;
    qb__line_ends_judge(lines, asked->ends.count, r->task.info->quantity == QB_LINE_INTEGRAL ? 0 : least, &cut);
    if (!cut.much) return QB_OK;
    warn(asked, &cut, env);
    note(asked, &cut, r->job.report);
    return QB_OK;
}
