/* SPDX-License-Identifier: MIT */
#include "cli.h"

/* Makes the geometry of the scan: from a file, or a circle from --sod and --sdd with the scan's own angles. */
static qb_status make_geometry(cli *c, const qb_scan_info *info, qb_geometry *geometry) {
    qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    return qb_scan_geometry(info, &c->options.geometry, &detector, &c->env, geometry);
}

static size_t element(const cJSON *object, const char *name, int index) {
    return (size_t)cJSON_GetArrayItem(cJSON_GetObjectItem(object, name), index)->valuedouble;
}

/* Adds the forecast for a cluster to the plan as "cluster", and shows the plan. */
static qb_status plan_on_paper(cli *c, const char *plan, const char *grid) {
    cJSON *root = cJSON_Parse(plan);
    if (!root) return complain(QB_NO_MEMORY, "no memory for the plan");
    const char *name = "views_rows_columns";
    const qb_tool_cluster_problem problem = {
        .views = element(root, name, 0),
        .rows = element(root, name, 1),
        .columns = element(root, name, 2),
        .n = {element(root, "size", 0), element(root, "size", 1), element(root, "size", 2)}};
    char *json = NULL, *text = NULL;
    qb_status status = qb_tool_cluster_plan(&problem, &c->options.cluster, grid, &json);
    if (status == QB_OK) {
        cJSON_AddItemToObject(root, "cluster", cJSON_Parse(json));
        text = cJSON_Print(root);
        status = text ? show_plan(c, text) : complain(QB_NO_MEMORY, "no memory for the plan");
    }
    cJSON_free(text);
    qb_text_free(json);
    cJSON_Delete(root);
    return status;
}

qb_status cmd_fdk(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_geometry geometry = {0};
    const char *file = c->options.geometry.geometry;
    if (file && c->options.scan.angles)
        return complain(QB_BAD_ARGUMENT, "--geometry %s states the angles: leave out --angles", file);
    const qb_tool_cluster_options *paper = &c->options.cluster;
    if (paper->cluster && !c->options.run.dry_run)
        return complain(QB_BAD_ARGUMENT, "--cluster is on paper: it belongs to qb plan fdk");
    const bool on_paper = paper->cluster || paper->nodes || paper->gpus_per_node;
    qb_fdk_options fdk = c->options.fdk;
    if (paper->cluster) fdk.grid = NULL; /* --grid is the grid of the described cluster, not of this job */
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = find_offset(c, scan, c->options.cone.center);
    if (status == QB_OK) status = make_geometry(c, qb_scan_describe(scan), &geometry);
    if (status == QB_OK)
        status = qb_fdk_plan(scan, &geometry, &c->options.prep, &fdk, &c->options.output, c->command, &c->env, &job);
    if (status == QB_OK)
        status =
            on_paper ? plan_on_paper(c, qb_job_plan(job), c->options.fdk.grid) : finish_job(c, job, scan, &geometry);
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    close_scan(c, scan);
    return status;
}
