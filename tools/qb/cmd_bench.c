/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

/* As Table I of the paper has it (bench_rabbitct_ladder.c): total, mean of a view, error, what each step brings. */
static void print_rung(const cJSON *row) {
    const char *name = text(row, "configuration"), *why = text(row, "not_run");
    char times[16] = "";
    if (*why) {
        printf("%-42s not run: %s\n", name, why);
        return;
    }
    if (cJSON_GetObjectItem(row, "speed_up")) snprintf(times, sizeof times, "%.2f", number(row, "speed_up"));
    printf("%-42s %10.4g %10.3g %10.4f %8s %8.4g\n", name, number(row, "seconds"), number(row, "mean_ms"),
           number(row, "error_hu2"), times, number(row, "gups"));
}

static qb_status print_ladder(const char *json) {
    cJSON *root = cJSON_Parse(json);
    const cJSON *row, *list = cJSON_GetObjectItem(root, "configurations");
    if (!root) return QB_NO_MEMORY;
    printf("%s: %.0f views of %.0f x %.0f to %.0f^3%s\n", text(root, "device"), number(root, "views"),
           number(root, "columns"), number(root, "rows"), number(root, "size"),
           cJSON_IsTrue(cJSON_GetObjectItem(root, "reference_present")) ? ""
                                                                        : ", error at samples: there is no reference");
    printf("%-42s %10s %10s %10s %8s %8s\n", "configuration", "total s", "ms a view", "HU^2", "times", "GUPS");
    cJSON_ArrayForEach(row, list) print_rung(row);
    if (number(root, "best_views_per_launch") > 0)
        printf("best: %.0f views a launch\n", number(root, "best_views_per_launch"));
    cJSON_Delete(root);
    return QB_OK;
}

static const char *const columns[] = {"rtk-32", "bp-tex", "tex-tran", "bp-l1", "l1-tran"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The row after those of one problem, the last of which is by the planner's choice; all may be one that says why there are none. */
static const cJSON *print_problem(const cJSON *row) {
    const char *name = text(row, "name"), *id = text(row, "kernel");
    printf("%-8s %8.4g", name, number(row, "alpha"));
    for (int i = 0; *id && i < COLUMNS; i++, row = row->next) {
        if (cJSON_GetObjectItem(row, "not_run"))
            printf(" %9s", "-");
        else
            printf(" %9.4g", number(row, "gups"));
    }
    if (cJSON_GetObjectItem(row, "not_run"))
        printf("  not run: %s\n", text(row, "not_run"));
    else
        printf(" %9.4g  %s\n", number(row, "gups"), text(row, "kernel"));
    return row->next;
}

/* As Table 4 of the iFDK paper has it (bench_ifdk.c): GUPS by each of its kernels, and by the planner's choice. */
static qb_status print_problems(const char *json) {
    cJSON *root = cJSON_Parse(json);
    if (!root) return QB_NO_MEMORY;
    printf("%s, GUPS\n%-8s %8s", text(root, "device"), "problem", "pix/vox");
    for (int i = 0; i < COLUMNS; i++) printf(" %9s", columns[i]);
    printf(" %9s  %s\n", "planned", "kernel");
    for (const cJSON *row = cJSON_GetObjectItem(root, "problems")->child; row;) row = print_problem(row);
    cJSON_Delete(root);
    return QB_OK;
}

/* The tables of --ladder; everything else is for programs. */
static qb_status print_found(const cli *c, const char *json) {
    if (!c->options.bench.ladder) {
        puts(json);
        return QB_OK;
    }
    return strcmp(c->argument[0], "ifdk") == 0 ? print_problems(json) : print_ladder(json);
}

qb_status cmd_bench(cli *c) {
    char *json;
    qb_status status =
        qb_tool_bench(c->argument[0], c->count > 1 ? c->argument[1] : NULL, &c->options.bench, &c->env, &json);
    if (status != QB_OK) return status;
    if (c->options.run.json && !is_silent()) {
        status = give_result(c, strdup(json));
    } else {
        finish_progress();
        if (!is_silent()) status = print_found(c, json);
    }
    qb_text_free(json);
    return status;
}
