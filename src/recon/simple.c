/* SPDX-License-Identifier: MIT */
/* One call from array to array: a scan, a plan and a run. */
#include "quickbeam/simple.h"

#include "base/params.h"
#include "base/status.h"
#include "io/tensor/tensor.h"

/* Find the shape of the result, as sizes along x, y and z. Arrays that overlap are refused, because the input must not
 * be overwritten. */
static qb_status look(const qb_tensor *from, const qb_tensor *to, qb__missing missing, qb_numbers *size) {
    qb__tensor source, result;
    qb_status status = qb__tensor_look(from, "the array to read", missing, &source);
    if (status == QB_OK) status = qb__tensor_look(to, "the array for the result", QB__MISSING_IMAGE, &result);
    if (status != QB_OK) return status;
    if (qb__tensors_meet(&source, &result))
        return qb__fail(QB_BAD_ARGUMENT, "the array for the result overlaps the one that is read");
    size->count = 3;
    for (int i = 0; i < 3; i++) size->value[i] = (double)result.shape[2 - i];
    return QB_OK;
}

static qb_status run(qb_status status, qb_job *job, const qb_env *env) {
    if (status == QB_OK) status = qb_job_run(job, env, NULL);
    qb_job_destroy(job);
    return status;
}

/* ---- projections to a volume ---- */

/* Where the rays are. */
typedef struct rays {
    const double *angles; /* radians, of a parallel beam; NULL if `geometry` is given */
    double pixel_size;
    const qb_geometry *geometry; /* any other beam; NULL if `angles` is given */
} rays;

typedef union any_options {
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    qb_iterative_options iterative;
    qb_mbir_options mbir;
} any_options;

typedef struct method {
    const qb_param *params;
    bool rows; /* slices are detector rows; false with a geometry */
    qb_status (*plan)(qb_scan *scan, const qb_geometry *geometry, const any_options *options,
                      const qb_output_options *output, const qb_env *env, qb_job **job);
} method;

/* True if the options hold a text for `name`. Not all methods have this option. */
static bool is_given(const method *m, const any_options *options, const char *name) {
    const qb_param *row = qb_param_find(m->params, name);
    return row && *(char *const *)((const char *)options + row->offset);
}

/* Take the size of the array if the options give none. */
static void take_size(const method *m, qb_numbers size, bool any, any_options *options) {
    qb_numbers *asked = (qb_numbers *)((char *)options + qb_param_find(m->params, "size")->offset);
    if ((m->rows && !any) || is_given(m, options, "slices")) size.count = 2;
    if (!asked->count && !is_given(m, options, "like")) *asked = size;
}

static qb_status check_rays(const rays *r) {
    if (!r->angles && !r->geometry) return qb__fail(QB_BAD_ARGUMENT, "there are no angles");
    if (!r->angles || !r->geometry) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "the geometry states the angles: leave out the angles or the geometry");
}

static qb_status reconstruct(const method *m, const qb_tensor *projections, rays from, const qb_tensor *volume,
                             const void *given, const qb_env *env) {
    const qb_scan_options about = {.pixel_size = from.pixel_size};
    const qb_output_options output = {.array = volume};
    any_options options;
    qb_numbers size = {0};
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status;
    QB__TRY(look(projections, volume, QB__MISSING_ROW, &size));
    QB__TRY(qb__params_view(m->params, given, &options));
    QB__TRY(check_rays(&from));
    take_size(m, size, from.geometry, &options);
    QB__TRY(qb_scan_from_tensor(projections, from.angles, NULL, NULL, &about, env, &scan));
    status = m->plan(scan, from.geometry, &options, &output, env, &job);
    status = run(status, job, env);
out:
    qb_scan_close(scan);
    return status;
}

static qb_status plan_fbp(qb_scan *scan, const qb_geometry *geometry, const any_options *options,
                          const qb_output_options *output, const qb_env *env, qb_job **job) {
    (void)geometry;
    return qb_fbp_plan(scan, NULL, &options->fbp, output, "qb_fbp", env, job);
}

qb_status qb_fbp(const qb_tensor *projections, const double *angles, double pixel_size, const qb_tensor *volume,
                 const qb_fbp_options *options, const qb_env *env) {
    static const method fbp = {qb_fbp_params, true, plan_fbp};
    return reconstruct(&fbp, projections, (rays){angles, pixel_size, NULL}, volume, options, env);
}

#define PLAN(name, member)                                                                                             \
    static qb_status plan_##name(qb_scan *scan, const qb_geometry *geometry, const any_options *options,               \
                                 const qb_output_options *output, const qb_env *env, qb_job **job) {                   \
        return qb_##name##_plan(scan, geometry, NULL, &options->member, output, "qb_" #name, env, job);                \
    }

PLAN(fdk, fdk)

qb_status qb_fdk(const qb_tensor *projections, const qb_geometry *geometry, const qb_tensor *volume,
                 const qb_fdk_options *options, const qb_env *env) {
    static const method fdk = {qb_fdk_params, false, plan_fdk};
    if (!geometry) return qb__fail(QB_BAD_ARGUMENT, "there is no geometry");
    return reconstruct(&fdk, projections, (rays){NULL, 0, geometry}, volume, options, env);
}

#define METHOD(name, member, type, rows)                                                                               \
    PLAN(name, member)                                                                                                 \
    qb_status qb_##name(const qb_tensor *projections, const double *angles, double pixel_size,                         \
                        const qb_geometry *geometry, const qb_tensor *volume, const type *options,                     \
                        const qb_env *env) {                                                                           \
        static const method row = {qb_##name##_params, rows, plan_##name};                                             \
        return reconstruct(&row, projections, (rays){angles, pixel_size, geometry}, volume, options, env);             \
    }

#define SOLVER(name, summary, example) METHOD(name, iterative, qb_iterative_options, false)
QB_SOLVERS(SOLVER)
METHOD(mbir, mbir, qb_mbir_options, true)

/* ---- the axis ---- */

qb_status qb_center(const qb_tensor *projections, const double *angles, const qb_center_options *options,
                    const qb_env *env, qb_center_result *result) {
    QB__NEED(result);
    QB__NEED(angles);
    qb_scan *scan = NULL;
    qb_status status = qb_scan_from_tensor(projections, angles, NULL, NULL, NULL, env, &scan);
    if (status == QB_OK) status = qb_center_find(scan, NULL, options, env, result);
    qb_scan_close(scan);
    return status;
}

/* ---- and back ---- */

qb_status qb_project(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                     const qb_tensor *projections, const qb_project_options *options, const qb_env *env) {
    const qb_output_options output = {.array = projections};
    qb_numbers size;
    qb_job *job = NULL;
    qb_status status = look(volume, projections, QB__MISSING_IMAGE, &size);
    if (status == QB_OK)
        status = qb_project_array_plan(volume, grid, geometry, options, &output, "qb_project", env, &job);
    return run(status, job, env);
}
