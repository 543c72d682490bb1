/* SPDX-License-Identifier: MIT */
/* qb project: the method's row and its engines. */
#include "base/status.h"
#include "io/geometry/geometry_file.h"
#include "quickbeam/recon.h"
#include "recon/project/projection.h"

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

#define ROW(field, name, type, meta, min, max, help)                                                                   \
    { name, type, offsetof(qb_project_options, field), meta, NULL, NULL, min, max, help, 0 }

const qb_param qb_project_params[] = {
    ROW(dataset, "dataset", QB_PARAM_TEXT, "PATH", 0, 0,
        "HDF5 path of the volume; default: /exchange/data, or the only array"),
    ROW(voxels, "voxel", QB_PARAM_NUMBERS, "MM|X,Y,Z", 0, 1e6,
        "voxel in mm, one number or one for each axis; default: what the file says"),
    ROW(offset, "offset", QB_PARAM_NUMBERS, "X,Y,Z", -1e9, 1e9,
        "where the middle of the volume lies, in mm; default: what the file says"),
    ROW(hu, "hu", QB_PARAM_DOUBLE, "MU_WATER", 1e-12, 1e6,
        "the volume is in Hounsfield units; the attenuation of water in 1/mm"),
    ROW(views, "views", QB_PARAM_INT, "N", 0, 16777216, "number of projections; default: pi/2 times the columns"),
    ROW(angles, "angles", QB_PARAM_TEXT, "FROM:TO[:N]|FILE", 0, 0,
        "degrees, TO exclusive; default: 0:180 parallel, 0:360 cone"),
    ROW(detector, "detector", QB_PARAM_NUMBERS, "COLUMNS[,ROWS]", 1, 1048576,
        "pixels of the detector; default: as many as the volume has voxels across and along z"),
    ROW(pixels, "pixel-size", QB_PARAM_NUMBERS, "U[,V]", 0, 1e6,
        "of the detector, in mm, along its rows and, where that is another, its columns; default: a voxel as it "
        "appears there"),
    ROW(center_offset, "center-offset", QB_PARAM_DOUBLE, "PIXELS", -1e6, 1e6,
        "where the axis falls, from the detector's middle column (COLUMNS - 1) / 2"),
    ROW(kernel, "kernel", QB_PARAM_TEXT, "ID", 0, 0,
        "the projection kernel to use, whatever the planner thinks (qb devices lists them)"),
    ROW(geometry_out, "geometry-out", QB_PARAM_TEXT, "FILE", 0, 0,
        "write the geometry too: .json, .xml (RTK's), .txt or .csv (matrices)"),
    QB_PARAMS_END(qb_project_options),
};
