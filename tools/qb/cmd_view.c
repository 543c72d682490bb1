/* SPDX-License-Identifier: MIT */
/* qb view: shows slices of a volume or of a scan in a browser. With --reconstruct the slices are computed from a scan
 * when they are looked at. */
#include <stdio.h>
#include <string.h>

#include "view/data.h"
#include "view/recon.h"
#include "view/serve.h"

/* Two arrays that are shown side by side must have the same shape: the page shows their difference. */
static qb_status check_pair(const char *const paths[2], const view_data *data) {
    const qb_array_info *a = view_data_info(data, 0), *b = view_data_info(data, 1);
    if (!b || memcmp(a->shape, b->shape, sizeof a->shape) == 0) return QB_OK;
    return complain(QB_BAD_INPUT,
                    "%s has %zu x %zu x %zu values and %s %zu x %zu x %zu: give two of one shape, or one of them",
                    paths[0], a->shape[0], a->shape[1], a->shape[2], paths[1], b->shape[0], b->shape[1], b->shape[2]);
}

qb_status cmd_view(cli *c) {
    view_serve_fn *serve;
    view_data *data = NULL;
    const char *const paths[2] = {c->argument[0], c->count > 1 ? c->argument[1] : NULL};
    qb_status status = view_prepare(c, &serve);
    if (status == QB_OK && c->options.view.allow_run)
        status = complain(QB_BAD_ARGUMENT, "--allow-run is for --reconstruct: without it there is no command to start");
    if (status == QB_OK) status = view_data_open(paths, c->options.view.dataset, &data);
    if (status == QB_OK) status = check_pair(paths, data);
    if (status == QB_OK)
        status = view_serve(c, serve, &(view_shown){.lane = view_data_lane, .answer = view_data_answer, .user = data});
    view_data_close(data);
    return status;
}

/* ---- qb view SCAN --reconstruct: the options of qb fbp or fdk, and a server ---- */

static qb_status cmd_view_reconstruct(cli *c) {
    view_serve_fn *serve;
    view_recon *recon = NULL;
    qb_scan *scan = NULL;
    qb_status status = view_prepare(c, &serve);
    if (status == QB_OK) status = open_scan(c, &scan);
    tell_warnings(status);
    if (status == QB_OK) status = view_recon_open(c, strcmp(c->verb->name, "fdk") == 0, scan, &recon);
    finish_progress();
    if (status == QB_OK)
        status =
            view_serve(c, serve, &(view_shown){.lane = view_recon_lane, .answer = view_recon_answer, .user = recon});
    view_recon_close(recon);
    return status;
}

static bool says(const char *word, const char *const *names) {
    for (; *names; names++) {
        const size_t n = strlen(*names);
        if (strncmp(word, *names, n) == 0 && (!word[n] || word[n] == '=')) return true;
    }
    return false;
}

/* Chooses fdk or fbp before the options are read. Distances or a geometry file mean a cone beam. Otherwise the scan
 * decides, as far as it can be opened without options. */
static const char *method_of(int argc, char **argv) {
    static const char *const cone[] = {"--sod", "--sdd", "--geometry", "-g", NULL};
    const char *method = "fbp";
    for (int i = 0; i < argc; i++)
        if (says(argv[i], cone)) return "fdk";
    for (int i = 0; i < argc; i++) {
        qb_scan *scan = NULL;
        if (argv[i][0] == '-' || qb_scan_open(argv[i], NULL, NULL, &scan) != QB_OK) continue;
        const qb_scan_info *info = qb_scan_describe(scan);
        if (info->beam == QB_BEAM_CONE || info->geometry_from || info->sod > 0) method = "fdk";
        qb_scan_close(scan);
        break;
    }
    return method;
}

const verb *view_verb(const verb *named, int argc, char **argv, verb *made) {
    static const char *const asks[] = {"--reconstruct", NULL};
    static const qb_param *const without[] = {sweep_params, report_params, qb_tool_cluster_params};
    bool asked = false;
    int n = 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) asked = asked || says(argv[i], asks);
    if (!named || named->run != cmd_view || !asked) return named;
    *made = *find_verb(method_of(argc, argv));
    for (const section *s = made->sections; s->table; s++) {
        bool leave = false;
        for (size_t i = 0; i < sizeof without / sizeof *without; i++) leave = leave || s->table == without[i];
        if (!leave) made->sections[n++] = *s;
    }
    for (const section *s = named->sections; s->table; s++)
        if (s->table != run_params) made->sections[n++] = *s;
    made->sections[n] = (section){0};
    made->abilities = ON_DEVICES | WRITES;
    made->run = cmd_view_reconstruct;
    return made;
}
