/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define SECTION(title, field, table)                                                                                   \
    { title, table, offsetof(options, field), sizeof(((options *)0)->field) }
#define RUN SECTION("Running", run, run_params)
#define REPORT SECTION("The report", report, report_params)
#define SWEEP SECTION("A sweep", sweep, sweep_params)
#define SCAN SECTION("The scan", scan, qb_scan_params)
#define PREP SECTION("Preparation", prep, qb_prep_params)
#define ANY_BEAM SECTION("Geometry (parallel unless -g FILE, or --sod and --sdd)", geometry, qb_geometry_params)

/* clang-format off */
#define SOLVER(name, summary, example)                                                                                 \
    {#name, "SCAN -o OUT", summary, "qb " #name " scan.h5 " example " -o volume.h5", 1, 1, ON_DEVICES | PLANS | WRITES | SHARES, \
     cmd_iterative, {SCAN, ANY_BEAM, PREP, SECTION("Reconstruction", iterative, qb_##name##_params),                   \
      SECTION("Output", output, qb_output_params), SWEEP, REPORT, RUN}},

const verb verbs[] = {
    {"info", "[SCAN] [-g GEOMETRY]", "what is in a scan, a volume or a geometry, and what is wrong with it",
     "qb info -g geometry.json --preview geometry.svg", 0, 1, 0, cmd_info,
     {SCAN, SECTION("Geometry", geometry, qb_geometry_params), SECTION("Detector and pictures", info, info_params),
      SECTION("The volume", grid, qb_grid_params), RUN}},
    {"plan", "VERB ...", "memory, disk and time that VERB would take, and why; the first one measures the machine",
     "qb plan fbp scan.h5 -o volume.h5", 0, 0, 0, cmd_plan, {RUN}},
    {"fbp", "SCAN -o OUT", "parallel beam: filtered back-projection",
     "qb fbp scan.h5 -o volume.h5 --center auto --filter hann", 1, 1, ON_DEVICES | PLANS | WRITES | SHARES, cmd_fbp,
     {SCAN, PREP, SECTION("Reconstruction", fbp, qb_fbp_params),
      SECTION("Output", output, qb_output_params), SWEEP, REPORT, RUN}},
    {"fdk", "PROJECTIONS -g GEOMETRY -o OUT", "cone beam: Feldkamp, Davis, Kress",
     "qb fdk scan.h5 --sod 500 --sdd 800 --pixel-size 0.4 -o volume.h5", 1, 1, ON_DEVICES | PLANS | WRITES | SHARES, cmd_fdk,
     {SCAN, SECTION("Geometry", geometry, qb_geometry_params), SECTION("The axis", cone, cone_params), PREP,
      SECTION("Reconstruction", fdk, qb_fdk_params), SECTION("A cluster, on paper", cluster, qb_tool_cluster_params),
      SECTION("Output", output, qb_output_params), SWEEP, REPORT, RUN}},
    QB_SOLVERS(SOLVER)
    {"mbir", "SCAN -o OUT", "any beam: model-based; for few or noisy views",
     "qb mbir scan.h5 --sharpness 0.5 --snr-db 35 -o volume.h5", 1, 1, ON_DEVICES | PLANS | WRITES | SHARES, cmd_mbir,
     {SCAN, ANY_BEAM, PREP, SECTION("Reconstruction", mbir, qb_mbir_params),
      SECTION("Output", output, qb_output_params), SWEEP, REPORT, RUN}},
    {"center", "SCAN", "the rotation axis, by several methods", "qb center scan.h5 --json", 1, 1, 0, cmd_center,
     {SCAN, PREP, SECTION("Search", center, qb_center_params), RUN}},
    {"hardening", "SCAN", "the curve of --hardening for an object of one material, from its own scan",
     "qb hardening scan.h5 --json", 1, 1, 0, cmd_hardening, {SCAN, PREP, SECTION("Search", center, qb_center_params), RUN}},
    {"simulate", "PHANTOM -o SCAN",
     "projections of shepp-logan, disc, ball, spheres, foam, inserts or baggage, with noise and faults; or a rabbitct data set",
     "qb simulate spheres -o scan.h5 --views 360 --detector 256,64 --photons 10000 --truth truth.mha", 1, 1, WRITES, cmd_simulate,
     {SECTION("The scan to make", simulate, qb_simulate_params), RUN}},
    {"project", "VOLUME -g GEOMETRY -o PROJECTIONS", "forward projection: a volume's line integrals",
     "qb project volume.h5 -g parallel --angles 0:180:360 -o lines.h5", 1, 1, ON_DEVICES | PLANS | WRITES, cmd_project,
     {SECTION("Geometry (-g parallel, -g FILE, or a circle)", geometry, qb_geometry_params),
      SECTION("Volume and scan", project, qb_project_params), SECTION("Output", output, qb_output_params), RUN}},
    {"convert", "SCAN|VOLUME -o OUT", "a scan's line integrals, or a volume, as a file of another kind",
     "qb convert scan.h5 -o lines.sinoparams", 1, 1, ON_DEVICES | WRITES, cmd_convert,
     {SCAN, PREP, SECTION("What to write", convert, qb_convert_params), RUN}},
    {"view", "VOLUME|SCAN [OTHER]", "slices of a volume or a scan in a browser; or two volumes and their difference", "qb view volume.h5", 1, 2, 0, cmd_view,
     {SECTION("What is shown", view, view_params), SECTION("The server", view, serve_params), RUN}},
    {"live", "SOURCE", "a scan while it is taken, in a browser: a folder of TIFFs, an HDF5 file that grows, or ZeroMQ",
     "qb live tcp://detector:9999 --angles 0:180:1800", 1, 1, ON_DEVICES, cmd_live,
     {SECTION("The picture", live, live_params), SECTION("Geometry (parallel unless --sod and --sdd)", geometry, qb_geometry_params),
      SECTION("The server", view, serve_params), SCAN, RUN}},
    {"compare", "A B", "how far A is from B", "qb compare a.h5 b.mha --json", 2, 2, 0, cmd_compare,
     {SECTION("Comparison", compare, compare_params), RUN}},
    {"bench", "WHAT [FILE]", "speed and accuracy of backproject, filter, fbp, fdk, project, resident, mbir, io, mpi, or rabbitct FILE.rct",
     "qb bench backproject --size 1024,1024,64 --views 1024", 1, 2, ON_DEVICES | SHARES, cmd_bench,
     {SECTION("The problem", bench, qb_tool_bench_params), RUN}},
    {"tune", "", "measure kernels on this machine: a device's best parameters, how fast the CPU's are of a cone beam", "qb tune --device cuda --seconds 60",
     0, 0, ON_DEVICES, cmd_tune, {SECTION("The search", tune, qb_tune_params), RUN}},
    {"devices", "", "what is there to compute on, and how fast it is", "qb devices", 0, 0, ON_DEVICES, cmd_devices, {RUN}},
    {0},
};
/* clang-format on */

const verb *find_verb(const char *name) {
    for (const verb *v = verbs; v->name; v++) {
        if (strcmp(v->name, name) == 0) return v;
    }
    return NULL;
}

#define ROW(field, name, type, meta, help, letter)                                                                     \
    { name, type, offsetof(run_options, field), meta, NULL, NULL, 0, 0, help, letter }

const qb_param run_params[] = {
    {"threads", QB_PARAM_INT, offsetof(run_options, threads), "N", NULL, NULL, 0, 4096,
     "computing threads; 0 = one per CPU", 't'},
    ROW(max_ram, "max-ram", QB_PARAM_BYTES, "SIZE",
        "memory the whole process may hold, like 8G; default: 3/4 of what is free", 0),
    {"device", QB_PARAM_TEXT, offsetof(run_options, device), "auto|cpu|cuda[:N|:all]|opencl[:N|:all]", "auto", NULL, 0,
     0, "what computes; auto takes a GPU where there is one and a kernel for it", 0},
    ROW(max_vram, "max-vram", QB_PARAM_BYTES, "SIZE",
        "memory to hold on each device; 0 and default: 9/10 of what is free", 0),
    ROW(config, "config", QB_PARAM_TEXT, "FILE",
        "read options from FILE, or qb mbir's from an sv-mbirct BASE.reconparams; flags win", 0),
    ROW(save_config, "save-config", QB_PARAM_TEXT, "FILE", "write all options of this run to FILE", 0),
    ROW(allow_external, "allow-external", QB_PARAM_FLAG, NULL,
        "read data that HDF5 and MetaImage files have outside their own folder", 0),
    ROW(dry_run, "dry-run", QB_PARAM_FLAG, NULL, "say what would be done and stop", 0),
    ROW(why, "why", QB_PARAM_FLAG, NULL, "with qb plan: every kernel's forecast and what limits it", 0),
    ROW(json, "json", QB_PARAM_FLAG, NULL, "print one JSON object on stdout", 0),
    ROW(quiet, "quiet", QB_PARAM_FLAG, NULL, "only warnings, errors and what a verb is asked for", 'q'),
    ROW(verbose, "verbose", QB_PARAM_FLAG, NULL, "more remarks", 'v'),
    ROW(help, "help", QB_PARAM_FLAG, NULL, "this page", 'h'),
    QB_PARAMS_END(run_options),
};

const qb_param compare_params[] = {
    {"dataset", QB_PARAM_TEXT, offsetof(compare_options, dataset), "PATH", NULL, NULL, 0, 0, "HDF5 path in both files",
     0},
    {"max-rel-l2", QB_PARAM_NUMBERS, offsetof(compare_options, max_rel_l2), "X", NULL, NULL, 0, 1e9,
     "exit with 1 when the relative L2 difference is larger; 0: unless A and B are the same", 0},
    {"max-rmse", QB_PARAM_NUMBERS, offsetof(compare_options, max_rmse), "X", NULL, NULL, 0, 1e30,
     "exit with 1 when the rmse is larger; 0: unless A and B are the same", 0},
    {"any-quantity", QB_PARAM_FLAG, offsetof(compare_options, any_quantity), NULL, NULL, NULL, 0, 0,
     "the numbers alone, also of files that state different quantities", 0},
    QB_PARAMS_END(compare_options),
};

const qb_param serve_params[] = {
    {"frame", QB_PARAM_FLAG, offsetof(view_options, frame), NULL, NULL, NULL, 0, 0,
     "notebooks of this machine may show it in a frame", 0},
    {"listen", QB_PARAM_TEXT, offsetof(view_options, listen), "ADDRESS", "127.0.0.1", NULL, 0, 0,
     "where browsers may come from: 127.0.0.1 this machine only, 0.0.0.0 any that reaches it", 0},
    {"port", QB_PARAM_INT, offsetof(view_options, port), "N", "0", NULL, 0, 65535,
     "of the address; 0: any that is free", 0},
    QB_PARAMS_END(view_options),
};

const qb_param live_params[] = {
    {"center", QB_PARAM_TEXT, offsetof(live_options, center), "COLUMN", NULL, NULL, 0, 0,
     "rotation axis at first [the middle]", 0},
    {"filter", QB_PARAM_TEXT, offsetof(live_options, filter), "NAME[:CUTOFF]", NULL, NULL, 0, 0,
     "as qb fbp's, at first", 0},
    {"rolling", QB_PARAM_FLAG, offsetof(live_options, rolling), NULL, NULL, NULL, 0, 0,
     "the sample turns on and on: pictures are of the newest half turn, of cones the newest turn", 0},
    {"subscribe", QB_PARAM_FLAG, offsetof(live_options, subscribe), NULL, NULL, NULL, 0, 0,
     "the ZeroMQ source publishes its frames (PUB), which may lose some; else it pushes them (PUSH)", 0},
    QB_PARAMS_END(live_options),
};

const qb_param view_params[] = {
    {"dataset", QB_PARAM_TEXT, offsetof(view_options, dataset), "PATH", NULL, NULL, 0, 0, "HDF5 path of the images", 0},
    {"allow-run", QB_PARAM_FLAG, offsetof(view_options, allow_run), NULL, NULL, NULL, 0, 0,
     "the page may start the command that it shows", 0},
    {"reconstruct", QB_PARAM_FLAG, offsetof(view_options, reconstruct), NULL, NULL, NULL, 0, 0,
     "compute slices of a scan when they are looked at, with sliders; takes all options of qb fbp or fdk", 0},
    QB_PARAMS_END(view_options),
};

const qb_param report_params[] = {
    {"report", QB_PARAM_TEXT, offsetof(report_options, file), "FILE.html", NULL, NULL, 0, 0,
     "one page about the scan, its geometry, the volume and the run, which any browser shows", 0},
    QB_PARAMS_END(report_options),
};

const qb_param sweep_params[] = {
    {"sweep", QB_PARAM_TEXT, offsetof(sweep_options, of), "OPTION=VALUES", NULL, NULL, 0, 0,
     "one slice for each value of any option, into a folder with a contact sheet: A:B:STEP, a list, TEXT{A:B:STEP}", 0},
    QB_PARAMS_END(sweep_options),
};

const char *list_verbs(int ability, char *text, size_t size) {
    size_t used = 0;
    for (const verb *v = verbs; v->name && used < size; v++)
        if (v->abilities & ability)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", v->name);
    return text;
}
