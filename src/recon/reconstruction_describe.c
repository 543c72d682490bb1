/* SPDX-License-Identifier: MIT */
/* The plan of a job, as JSON. */
#include <math.h>

#include "base/number.h"
#include "base/status.h"
#include "job/job.h"
#include "prep/warp.h"
#include "recon/reconstruction_parts.h"

static void describe_angles(const qb__reconstruction *r, cJSON *plan) {
    const qb_scan_info *info = r->task.info;
    char text[sizeof r->decision.angles];
    if (!info) return;
    if (r->decision.angles[0])
        qb__print(text, sizeof text, "%s", r->decision.angles);
    else if (info->angles)
        qb__print(text, sizeof text, "%zu view%s, from %.6g to %.6g degrees", info->views, info->views == 1 ? "" : "s",
                  info->angles[0] * (180 / M_PI), info->angles[info->views - 1] * (180 / M_PI));
    else
        qb__print(text, sizeof text, "%zu views, as the geometry has them", info->views);
    cJSON_AddStringToObject(plan, "angles", text);
}

qb_status qb__reconstruction_describe(qb__reconstruction *r) {
    const qb__cut *cut = &r->pick.cut;
    const qb__cut_space *space = &qb__chosen(r)->offer.space;
    cJSON *plan = cJSON_Duplicate(r->remarks, true); /* everything else is added again */
    qb__describe_subject(plan, &r->decision.subject);
    qb__describe_options(plan, r->method->params, r->options);
    if (r->task.scan) qb__describe_options(plan, qb_prep_params, &r->prep);
    if (qb__phase_text(r->phase)) cJSON_AddStringToObject(plan, "phase_retrieval", qb__phase_text(r->phase));
    if (qb__phase_by(r->phase)) cJSON_AddStringToObject(plan, "phase_by", qb__phase_by(r->phase));
    if (qb__phase_stay(r->phase))
        cJSON_AddNumberToObject(plan, "phase_rows_on_device", (double)qb__phase_stay(r->phase));
    if (qb__phase_scatter(r->phase)) cJSON_AddStringToObject(plan, "scatter", qb__phase_scatter(r->phase));
    if (r->task.scan && r->task.scan->info.image) cJSON_AddStringToObject(plan, "images", r->task.scan->info.image);
    if (r->task.scan && qb__warp_wanted(r->task.scan))
        cJSON_AddStringToObject(plan, "resampled", qb__warp_text(r->task.scan));
    if (r->task.scan && r->task.scan->info.flats_how)
        cJSON_AddStringToObject(plan, "flat_fields", r->task.scan->info.flats_how);
    qb__facts_print(&r->pick.facts, cut->need.device, plan);
    describe_angles(r, plan);
    if (r->task.scan && (r->task.scan->found.count || r->task.scan->info.masked))
        qb__scan_add_findings(r->task.scan, plan);
    cJSON_AddNumberToObject(plan, "threads", r->task.threads);
    cJSON_AddNumberToObject(plan, "slices_per_chunk", (double)cut->slices);
    cJSON_AddNumberToObject(plan, "chunks", (double)cut->slabs);
    cJSON_AddNumberToObject(plan, "views_per_block", (double)qb__cut_bundled(space, cut->views));
    cJSON_AddNumberToObject(plan, "ring_slots", cut->slots);
    cJSON_AddNumberToObject(plan, "start_seconds", qb__idle(r) ? 0 : qb__chosen(r)->offer.start);
    qb__describe_cost(plan, &r->volume, r->pick.memory, qb__reconstruction_forecast(r, plan));
    qb__job_add_warnings(&r->job, plan); /* warnings of the printed plan; provenance has its own list */
    cJSON_Delete(r->job.plan);
    r->job.plan = plan;
    cJSON_free(r->job.plan_text);
    r->job.plan_text = cJSON_Print(plan);
    cJSON_DeleteItemFromObject(plan, "warnings");
    return r->job.plan_text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the plan");
}
