/* SPDX-License-Identifier: MIT */
/* qb mbir: the method's row and its engines. */
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/mbir/mbir.h"
#include "recon/mbir/mbir_any.h"

static const qb__engine *const engines[] = {&qb__mbir_cpu, &qb__mbir_device, NULL};

static const qb__method method = {
    .verb = "mbir",
    .params = qb_mbir_params,
    .plan_bytes = sizeof(qb__mbir),
    .engines = engines,
    .decide = qb__mbir_decide,
    .stages = qb__mbir_stages,
    .facts = qb__mbir_facts,
    .release = qb__mbir_release,
    .begin = qb__mbir_begin,
    .measure = qb__mbir_measure,
    .rows = qb__mbir_rows,
    .open = qb__mbir_open,
    .close = qb__mbir_close,
};

qb_status qb_mbir_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                       const qb_mbir_options *options, const qb_output_options *output, const char *command,
                       const qb_env *env, qb_job **job) {
    qb_mbir_options view;
    const qb_status status = qb__params_view(qb_mbir_params, options, &view);
    if (status != QB_OK) return status;
    const bool any = qb__mbir_is_any(scan ? qb__scan_views_of(scan, geometry) : NULL, &view);
    return qb__reconstruction_plan_along(any ? &qb__mbir_cone_method : &method, scan, geometry, prep, options, output,
                                         command, env, job);
}
