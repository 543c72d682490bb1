/* SPDX-License-Identifier: MIT */
/* Plan and run: a scan in a file becomes a volume in a file, and a report is printed.
 *     cc plan_run.c $(pkg-config --cflags --libs quickbeam) -o plan_run
 *     ./plan_run scan.h5 volume.h5 */
#include <quickbeam/quickbeam.h>
#include <stdio.h>

static void print_remark(void *user, qb_log_level level, const char *text) {
    (void)user;
    if (level >= QB_LOG_INFO) fprintf(stderr, "%s\n", text);
}

static qb_status watch(void *user, const qb_slab *slab) {
    (void)user;
    fprintf(stderr, "%zu of %zu slices\n", slab->first + slab->count, slab->shape[0]);
    return QB_OK;
}

static qb_status reconstruct(const char *from, const char *to, const qb_env *env) {
    const qb_fbp_options fbp = {.filter = "hann"}; /* all else at its default */
    const qb_output_options output = {.output = to, .slab = watch};
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    const char *report;
    qb_status status = qb_scan_open(from, NULL, env, &scan);
    if (status == QB_OK) status = qb_fbp_plan(scan, NULL, &fbp, &output, "examples/plan_run", env, &job);
    if (status == QB_OK) status = qb_job_run(job, env, &report);
    if (status == QB_OK) printf("%s\n", report);

    qb_job_destroy(job);
    qb_scan_close(scan);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: plan_run SCAN VOLUME\n");
        return 2;
    }
    qb_env env = {.log = print_remark};
    qb_status status = reconstruct(argv[1], argv[2], &env);
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
    return qb_status_exit_code(status);
}
