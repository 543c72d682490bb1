/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static qb_status as_json(cli *c, const qb_comparison *d) {
    cJSON *root = cJSON_CreateObject();
    const struct {
        const char *name;
        double value;
    } rows[] = {{"rmse", d->rmse}, {"max_abs", d->max_abs}, {"rel_l2", d->rel_l2},          {"psnr_db", d->psnr_db},
                {"ssim", d->ssim}, {"slope", d->slope},     {"correlation", d->correlation}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (isfinite(rows[i].value)) {
            cJSON_AddNumberToObject(root, rows[i].name, rows[i].value);
        } else {
            /* The PSNR of equal arrays is infinite, and JSON has no infinity */
            cJSON_AddNullToObject(root, rows[i].name);
        }
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

static qb_status check_limits(const compare_options *limits) {
    if (limits->max_rel_l2.count <= 1 && limits->max_rmse.count <= 1) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "--max-rel-l2 and --max-rmse take one number each");
}

static qb_status judge_one(const char *name, const char *flag, double value, const qb_numbers *most) {
    if (!most->count || value <= most->value[0]) return QB_OK;
    return complain(QB_INTERNAL, "%s %g is above %s %g", name, value, flag, most->value[0]);
}

static qb_status judge(const compare_options *limits, const qb_comparison *d) {
    qb_status status = judge_one("rel_l2", "--max-rel-l2", d->rel_l2, &limits->max_rel_l2);
    return status == QB_OK ? judge_one("rmse", "--max-rmse", d->rmse, &limits->max_rmse) : status;
}

static void warn(const cli *c, const char *what, const char *a, const char *b) {
    char text[512];
    snprintf(text, sizeof text, "%s differ: %s in %s, %s in %s", what, a, c->argument[0], b, c->argument[1]);
    c->env.log(c->env.user, QB_LOG_WARNING, text);
}

static void warn_of_voxels(const cli *c, const qb_array_info *a, const qb_array_info *b) {
    char size[2][96];
    const qb_array_info *info[2] = {a, b};
    bool differ = false;
    for (int i = 0; i < 3; i++) {
        if (!(a->voxel[i] > 0 && b->voxel[i] > 0)) continue; /* one of the files does not state its voxel size */
        differ = differ || fabs(a->voxel[i] / b->voxel[i] - 1) > 1e-4;
    }
    for (int k = 0; k < 2; k++)
        snprintf(size[k], sizeof size[k], "%.6g x %.6g x %.6g mm", info[k]->voxel[0], info[k]->voxel[1],
                 info[k]->voxel[2]);
    if (differ) warn(c, "voxel sizes", size[0], size[1]);
}

static double array_bytes(const qb_array_info *info) {
    double values = (double)info->shape[0] * (double)info->shape[1] * (double)info->shape[2];
    /* True where scaled integers are converted to floats; both arrays are then in memory */
    bool spread = info->scale[1] > info->scale[0] && !qb_dtype_is_float(info->dtype);
    return values * (double)(qb_dtype_size(info->dtype) + (spread ? sizeof(float) : 0));
}

/* Both arrays are held in memory as a whole: refuses a --max-ram that is too small. */
static qb_status check_memory(const cli *c, const qb_array_info *a, const qb_array_info *b) {
    const double program = 8 << 20; /* memory of qb itself, HDF5 included */
    double need = program + array_bytes(a) + array_bytes(b) + 16.0 * (double)a->shape[1] * (double)a->shape[2];
    double cap = (double)c->options.run.max_ram;
    if (cap == 0 || need <= cap) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "--max-ram of %.1f MiB is too small: both arrays are held, which needs %.1f MiB",
                    cap / 1048576.0, ceil(need / 1048576.0 * 10) / 10);
}

/* "volume" is the quantity of a volume whose file does not state what its values are. */
static bool states_quantity(const qb_array_info *info) {
    return *info->quantity && strcmp(info->quantity, "volume") != 0;
}

/* Refuses two different quantities, and warns where units or voxel sizes differ: then the numbers mean little. */
static qb_status check_meaning(const cli *c) {
    qb_array_info a = {.struct_size = sizeof a}, b = a;
    const compare_options *wish = &c->options.compare;
    qb_status status = qb_array_describe(c->argument[0], wish->dataset, &a);
    if (status == QB_OK) status = qb_array_describe(c->argument[1], wish->dataset, &b);
    if (status != QB_OK) return status;
    bool differ = states_quantity(&a) && states_quantity(&b) && strcmp(a.quantity, b.quantity) != 0;
    if (differ && !wish->any_quantity)
        return complain(QB_BAD_INPUT,
                        "%s holds %s, %s %s: not the same quantity; --any-quantity compares the numbers all "
                        "the same",
                        c->argument[0], a.quantity, c->argument[1], b.quantity);
    if (*a.units && *b.units && strcmp(a.units, b.units) != 0) warn(c, "units", a.units, b.units);
    warn_of_voxels(c, &a, &b);
    return check_memory(c, &a, &b);
}

qb_status cmd_compare(cli *c) {
    qb_array a = {0}, b = {0};
    qb_comparison difference = {.struct_size = sizeof difference};
    const char *dataset = c->options.compare.dataset;
    qb_status status = check_limits(&c->options.compare);
    if (status == QB_OK) status = check_meaning(c);
    if (status == QB_OK) status = qb_array_load_values(c->argument[0], dataset, &a, NULL);
    if (status == QB_OK) status = qb_array_load_values(c->argument[1], dataset, &b, NULL);
    if (status == QB_OK) status = qb_compare(&a, &b, &difference);
    qb_array_destroy(&a);
    qb_array_destroy(&b);
    if (status != QB_OK) return status;
    if (c->options.run.json) {
        status = as_json(c, &difference);
    } else {
        printf("rmse        %.6g\nmax_abs     %.6g\nrel_l2      %.6g\npsnr_db     %.4f\n"
               "ssim        %.6f\nslope       %.6f\ncorrelation %.6f\n",
               difference.rmse, difference.max_abs, difference.rel_l2, difference.psnr_db, difference.ssim,
               difference.slope, difference.correlation);
    }
    return status == QB_OK ? judge(&c->options.compare, &difference) : status;
}
