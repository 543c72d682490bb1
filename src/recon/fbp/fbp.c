/* SPDX-License-Identifier: MIT */
/* qb fbp: the method's row and its engines. */
#include "base/hash.h"
#include "base/status.h"
#include "recon/fbp/fbp.h"

static qb_status report_axis(void *plan, cJSON *report, qb__publication *set, const qb_env *env) {
    (void)env;
    (void)set;
    cJSON_AddNumberToObject(report, "column", qb__fbp_column(plan, ((const qb__fbp *)plan)->center));
    return QB_OK;
}

/* Hash of the positions of rows and the axis, whether the axis was found, given, or read from a file. */
static uint64_t layout(const qb__fbp *fbp) {
    const size_t views = fbp->info->views;
    const double numbers[] = {fbp->pixel, fbp->zero, (double)fbp->first_row, (double)fbp->step, (double)fbp->width};
    uint64_t hash = qb__hash(numbers, sizeof numbers, qb__hash(&fbp->grid, sizeof fbp->grid, 0));
    if (fbp->region.asked) hash = qb__hash(&fbp->region.whole, sizeof fbp->region.whole, hash);
    const double *const of_views[] = {fbp->ax, fbp->ay, fbp->h0};
    for (size_t i = 0; i < 3; i++) hash = qb__hash(of_views[i], views * sizeof(double), hash);
    hash = qb__hash(fbp->weights, views * sizeof *fbp->weights, hash);
    if (fbp->share) hash = qb__hash(fbp->share, fbp->info->columns * sizeof *fbp->share, hash);
    if (fbp->view_share) hash = qb__hash(fbp->view_share, views * fbp->info->columns * sizeof *fbp->view_share, hash);
    return qb__hash(fbp->roll.map, fbp->roll.maps * sizeof *fbp->roll.map, hash);
}

static void facts(void *plan, const qb__cut *cut, qb__job_facts *facts) {
    qb__fbp *fbp = plan;
    facts->layout = layout(fbp);
    facts->spent = qb__fbp_read_ahead(fbp, cut, facts->spare);
    const char *redundancy = qb__fbp_redundancy(fbp);
    if (redundancy[0]) qb__fact_text(facts, "redundancy", redundancy);
    qb__fact_number(facts, NULL, "fft_length", (double)qb__filter_length(fbp->filter));
    qb__fact_number(facts, NULL, "rows_read_ahead", (double)fbp->reader.cache_rows);
}

static const qb__engine *const engines[] = {&qb__fbp_cpu, &qb__fbp_cpu_single, &qb__fbp_device, NULL};

static const qb__method method = {
    .verb = "fbp",
    .params = qb_fbp_params,
    .plan_bytes = sizeof(qb__fbp),
    .engines = engines,
    .decide = qb__fbp_decide,
    .stages = qb__fbp_stages,
    .rows = qb__fbp_rows,
    .facts = facts,
    .release = qb__fbp_release,
    .begin = qb__fbp_begin,
    .range = qb__fbp_range,
    .open = qb__fbp_open,
    .close = qb__fbp_close,
    .end = report_axis,
    .transpose = qb__fbp_transpose,
};

qb_status qb_fbp_plan(qb_scan *scan, const qb_prep_options *prep, const qb_fbp_options *options,
                      const qb_output_options *output, const char *command, const qb_env *env, qb_job **job) {
    QB__NEED(scan);
    QB__NEED(job);
    const qb__request request = {.scan = scan,
                                 /* with a geometry file the scan may lack angles */
                                 .more = options ? options->geometry : NULL,
                                 .prep = prep,
                                 .options = options,
                                 .output = output,
                                 .command = command};
    return qb__reconstruction_plan(&method, &request, env, job);
}

const qb__fbp *qb__fbp_of(const qb_job *job) { return qb__reconstruction_plan_of(job, &method); }
