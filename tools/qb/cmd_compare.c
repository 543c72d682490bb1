/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>

#include "cli.h"

static qb_status as_json(cli *c, const qb_comparison *d) {
    cJSON *root = cJSON_CreateObject();
    const struct {
        const char *name;
        double value;
    } rows[] = {{"rmse", d->rmse},   {"max_abs", d->max_abs},       {"rel_l2", d->rel_l2},
                {"psnr_db", d->psnr_db}, {"ssim", d->ssim}, {"slope", d->slope},
                {"correlation", d->correlation}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (isfinite(rows[i].value)) {
            cJSON_AddNumberToObject(root, rows[i].name, rows[i].value);
        } else {
            cJSON_AddNullToObject(root, rows[i].name); /* psnr of equal arrays is infinite */
        }
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

static qb_status judge(const compare_options *limits, const qb_comparison *d) {
    if (limits->max_rel_l2 > 0 && !(d->rel_l2 <= limits->max_rel_l2))
        return complain(QB_INTERNAL, "rel_l2 %g is above --max-rel-l2 %g", d->rel_l2,
                        limits->max_rel_l2);
    if (limits->max_rmse > 0 && !(d->rmse <= limits->max_rmse))
        return complain(QB_INTERNAL, "rmse %g is above --max-rmse %g", d->rmse, limits->max_rmse);
    return QB_OK;
}

qb_status cmd_compare(cli *c) {
    qb_array a = {0}, b = {0};
    qb_comparison difference;
    const char *dataset = c->options.compare.dataset;
    qb_status status = qb_array_load_values(c->argument[0], dataset, &a, NULL);
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
               difference.rmse, difference.max_abs, difference.rel_l2, difference.psnr_db,
               difference.ssim, difference.slope, difference.correlation);
    }
    return status == QB_OK ? judge(&c->options.compare, &difference) : status;
}
