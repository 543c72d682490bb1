/* SPDX-License-Identifier: MIT */
/* qb fdk: the method's row and its engines. */
#include "base/hash.h"
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "job/options_rows.h"
#include "quickbeam/recon.h"
#include "recon/fdk/fdk.h"

/* Hash of the geometry and the grid. Weights, filter and matrices follow from these and from the options. */
static uint64_t layout(const qb__fdk *fdk) {
    const qb_geometry *g = fdk->real;
    const uint64_t hash = qb__hash(&fdk->grid, sizeof fdk->grid, qb__hash(&g->radius, sizeof g->radius, 0));
    return qb__hash(g->view, g->views * sizeof *g->view, hash);
}

static void facts(void *plan, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const qb__fdk *fdk = plan;
    facts->geometry = fdk->real;
    facts->layout = layout(fdk);
    qb__fact_number(facts, NULL, "fft_length", (double)qb__filter_length(fdk->filter));
    qb__fact_number(facts, NULL, "detector_rows_per_chunk", (double)fdk->window_rows);
}

static const qb__engine *const engines[] = {&qb__fdk_cpu, &qb__fdk_device, NULL};

#define METHOD(how)                                                                                                    \
    {                                                                                                                  \
        .verb = "fdk", .params = qb_fdk_params, .plan_bytes = sizeof(qb__fdk), .engines = engines, .decide = how,      \
        .stages = qb__fdk_stages, .facts = facts, .release = qb__fdk_release, .rows = qb__fdk_rows,                    \
        .range = qb__fdk_range, .open = qb__fdk_open, .transpose = qb__fdk_transpose,                                  \
    }
static const qb__method method = METHOD(qb__fdk_decide), of_plane = METHOD(qb__fdk_decide_plane);

qb_status qb__fdk_plan_within(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                              const qb_fdk_options *options, const qb_output_options *output, const qb_env *env,
                              qb_job **job) {
    const qb__request request = {.scan = scan,
                                 .more = geometry,
                                 .prep = prep,
                                 .options = options,
                                 .output = output,
                                 .command = "qb fdk",
                                 .silent = true};
    return qb__reconstruction_plan(&method, &request, env, job);
}

qb_status qb_fdk_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                      const qb_fdk_options *options, const qb_output_options *output, const char *command,
                      const qb_env *env, qb_job **job) {
    QB__NEED(geometry);
    return qb__reconstruction_plan_along(&method, scan, geometry, prep, options, output, command, env, job);
}

qb_status qb_tool_fdk_plane(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                            const qb_fdk_options *options, const qb_tool_plane *plane, const qb_env *env, float *out) {
    const qb__fdk_given more = {*geometry, plane};
    const qb_tensor array = qb_tensor_f32(out, 1, plane->lines, plane->points);
    const qb_output_options output = {.array = &array};
    qb_fdk_options whole;
    qb_job *job = NULL;
    qb_status status = qb__params_view(qb_fdk_params, options, &whole);
    whole.region = whole.slices = whole.kernel = NULL;
    const qb__request request = {.scan = scan,
                                 .more = &more,
                                 .prep = prep,
                                 .options = &whole,
                                 .output = &output,
                                 .command = "qb view",
                                 .silent = true};
    if (status == QB_OK) status = qb__reconstruction_plan(&of_plane, &request, env, &job);
    if (status == QB_OK) status = qb_job_run(job, env, NULL);
    qb_job_destroy(job);
    return status;
}

#define ROW(...) QB__ROW(qb_fdk_options, __VA_ARGS__)

const qb_param qb_fdk_params[] = {
    QB__FILTER_ROWS(qb_fdk_options),
    QB__KERNEL_ROWS(qb_fdk_options),
    QB__SIZE_ROW(qb_fdk_options),
    QB__VOXEL_ROW(qb_fdk_options),
    ROW(offset, QB_PARAM_NUMBERS, "X,Y,Z", NULL, NULL, -1e9, 1e9, "where the middle of the volume lies, in mm"),
    QB__LIKE_ROW(qb_fdk_options),
    ROW(slices, QB_PARAM_TEXT, "A:B[:S]", NULL, NULL, 0, 0, "only these slices of the volume"),
    ROW(region, QB_PARAM_TEXT, "X0:X1,Y0:Y1,Z0:Z1", NULL, NULL, 0, 0,
        "only these voxels, with the values of the whole; on the CPU"),
    {"allow-limited", QB_PARAM_FLAG, offsetof(qb_fdk_options, allow_limited), NULL, NULL, NULL, 0, 0,
     "reconstruct although more than a step, and a degree, of the angles needed is missing", 0},
    {"force", QB_PARAM_FLAG, offsetof(qb_fdk_options, force), NULL, NULL, NULL, 0, 0,
     "reconstruct although the source's path is no circle, as that of a helix", 0},
    QB__HU_ROW(qb_fdk_options),
    QB__OUTSIDE_ROWS(qb_fdk_options),
    ROW(resample, QB_PARAM_CHOICE, NULL, "auto", "auto|always|never", 0, 0,
        "resample views onto a flat, upright detector; auto: where it is curved, or its rows are not level by more "
        "than a pixel"),
    QB__ANGLE_WEIGHTS_ROW(qb_fdk_options),
    ROW(grid, QB_PARAM_TEXT, "RxC", "auto", NULL, 0, 0,
        "processes of mpirun: R rows share the slices, C columns the views; auto: all rows"),
    QB__KEEP_ROWS(qb_fdk_options),
    QB_PARAMS_END(qb_fdk_options),
};
