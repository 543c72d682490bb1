/* SPDX-License-Identifier: MIT */
/* qb project: the method's row and its engines. */
#include "base/status.h"
#include "recon/project/projection.h"

#include "io/geometry/geometry_file.h"

static qb_status end(void *plan, cJSON *report, qb__publication *set, const qb_env *env) {
    const qb__projection *p = plan;
    qb__projection_tell_missing(p, report, env);
    if (!p->options->geometry_out) return QB_OK;
    return qb__geometry_save(set, p->options->geometry_out, &p->scan.geometry);
}

static const qb__engine *const engines[] = {&qb__projection_cpu, &qb__projection_device, NULL};

static const qb__method method = {
    .verb = "project",
    .params = qb_project_params,
    .plan_bytes = sizeof(qb__projection),
    .engines = engines,
    .decide = qb__projection_decide,
    .stages = qb__projection_stages,
    .release = qb__projection_release,
    .open = qb__projection_open,
    .close = qb__projection_close,
    .end = end,
};

qb_status qb__projection_request(const qb__request *request, const qb_env *env, qb_job **job) {
    return qb__reconstruction_plan(&method, request, env, job);
}

qb_status qb_project_plan(const char *volume, const qb_geometry_options *geometry, const qb_project_options *options,
                          const qb_output_options *output, const char *command, const qb_env *env, qb_job **job) {
    QB__NEED(volume);
    QB__NEED(job);
    const qb__projection_given given = {.place = geometry};
    const qb__request request = {
        .input = volume, .more = &given, .options = options, .output = output, .command = command ? command : ""};
    return qb__projection_request(&request, env, job);
}
