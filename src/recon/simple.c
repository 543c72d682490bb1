/* SPDX-License-Identifier: MIT */
/* One call from array to array: a scan, a plan and a run of each. */
#include "quickbeam/simple.h"

#include "base/params.h"
#include "base/status.h"
#include "io/tensor.h"

/* The shape of the result, as sizes along x, y and z; an array that is read must not be written. */
static qb_status look(const qb_tensor *from, const qb_tensor *to, qb__missing missing,
                      qb_numbers *size) {
    qb__tensor source, result;
    qb_status status = qb__tensor_look(from, "the array to read", missing, &source);
    if (status == QB_OK)
        status = qb__tensor_look(to, "the array for the result", QB__MISSING_IMAGE, &result);
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

qb_status qb_fbp(const qb_tensor *projections, const double *angles, double pixel_size,
                 const qb_tensor *volume, const qb_fbp_options *given, const qb_env *env) {
    const qb_scan_options about = {.pixel_size = pixel_size};
    const qb_output_options output = {.array = volume};
    qb_fbp_options options;
    qb_numbers size;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = look(projections, volume, QB__MISSING_ROW, &size);
    if (status == QB_OK) status = qb__params_view(qb_fbp_params, given, &options);
    if (status != QB_OK) return status;
    size.count = 2; /* slices are rows */
    if (!options.size.count && !options.like) options.size = size;
    if (!angles) return qb__fail(QB_BAD_ARGUMENT, "there are no angles");
    status = qb_scan_from_tensor(projections, angles, NULL, NULL, &about, env, &scan);
    if (status == QB_OK)
        status = qb_fbp_plan(scan, NULL, &options, &output, "qb_fbp", env, &job);
    status = run(status, job, env);
    qb_scan_close(scan);
    return status;
}

qb_status qb_fdk(const qb_tensor *projections, const qb_geometry *geometry,
                 const qb_tensor *volume, const qb_fdk_options *given, const qb_env *env) {
    const qb_output_options output = {.array = volume};
    qb_fdk_options options;
    qb_numbers size;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = look(projections, volume, QB__MISSING_ROW, &size);
    if (status == QB_OK) status = qb__params_view(qb_fdk_params, given, &options);
    if (status != QB_OK) return status;
    if (options.slices) size.count = 2;
    if (!options.size.count && !options.like) options.size = size;
    status = qb_scan_from_tensor(projections, NULL, NULL, NULL, NULL, env, &scan);
    if (status == QB_OK)
        status = qb_fdk_plan(scan, geometry, NULL, &options, &output, "qb_fdk", env, &job);
    status = run(status, job, env);
    qb_scan_close(scan);
    return status;
}

qb_status qb_project(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                     const qb_tensor *projections, const qb_project_options *options,
                     const qb_env *env) {
    const qb_output_options output = {.array = projections};
    qb_numbers size;
    qb_job *job = NULL;
    qb_status status = look(volume, projections, QB__MISSING_IMAGE, &size);
    if (status == QB_OK)
        status = qb_project_array_plan(volume, grid, geometry, options, &output, "qb_project", env,
                                       &job);
    return run(status, job, env);
}
