/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "job/options_rows.h"
#include "quickbeam/recon.h"
#include "recon/iterative/iterative.h"

#define ROW(...) QB__ROW(qb_iterative_options, __VA_ARGS__)

/* clang-format off */
#define COMMON(most)                                                                               \
    ROW(iterations, QB_PARAM_INT, "N", most, NULL, 1, 100000,                                      \
        "at most so many; the report says how residual and change fell"),                          \
    ROW(tolerance, QB_PARAM_DOUBLE, "X", "0", NULL, 0, 1,                                          \
        "stop once an iteration changes the volume by less than this, relative to it; 0: never"),  \
    ROW(nonneg, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0, "no attenuation below zero"),               \
    ROW(center, QB_PARAM_TEXT, "COLUMN|auto|middle|stated|METHOD", NULL, NULL, 0, 0,                      \
        "the rotation axis of a parallel beam, as in qb fbp"),                                     \
    QB__SIZE_ROW(qb_iterative_options),                                                            \
    QB__VOXEL_ROW(qb_iterative_options),                                                           \
    ROW(offset, QB_PARAM_NUMBERS, "X,Y,Z", NULL, NULL, -1e9, 1e9,                                  \
        "where the middle of the volume lies, in mm"),                                             \
    QB__LIKE_ROW(qb_iterative_options),                                                            \
    QB__HU_ROW(qb_iterative_options),                                                              \
    ROW(kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,                                             \
        "the projection kernel to use, whatever the planner thinks (qb devices lists them)")
/* clang-format on */

const qb_param qb_sirt_params[] = {
    COMMON("100"),
    ROW(relaxation, QB_PARAM_DOUBLE, "X", "1", NULL, 1e-6, 1.999, "how much of each update is taken: between 0 and 2"),
    QB_PARAMS_END(qb_iterative_options),
};
const qb_param qb_cgls_params[] = {
    COMMON("20"),
    QB_PARAMS_END(qb_iterative_options),
};
const qb_param qb_tv_params[] = {
    COMMON("300"),
    ROW(lambda, QB_PARAM_TEXT, "X|auto", "auto", NULL, 0, 0,
        "weight of the total variation, in mm; auto: from the noise that the solution leaves in the data"),
    ROW(weights, QB_PARAM_TEXT, "unweighted|transmission|transmission_root", "transmission", NULL, 0, 0,
        "what a ray counts for: its transmission is in proportion to the photons that came through"),
    ROW(gap, QB_PARAM_DOUBLE, "X", "1e-3", NULL, 0, 1,
        "stop once the primal-dual gap is this part of the objective; 0: never"),
    QB_PARAMS_END(qb_iterative_options),
};

qb_status qb__iterative_regularisation(const qb_iterative_options *o, double *lambda, double *weigh_by) {
    static const char *const words[] = {"unweighted", "transmission_root", "transmission"};
    int power = 0;
    char *end;
    *lambda = *weigh_by = 0;
    if (!o->lambda) return QB_OK; /* another solver */
    if (strcmp(o->lambda, "auto") != 0) {
        *lambda = qb__strtod(o->lambda, &end);
        if (end == o->lambda || *end || !(*lambda > 0 && *lambda <= 1e30))
            return qb__fail(QB_BAD_ARGUMENT, "--lambda %s is neither a number above 0 nor auto", o->lambda);
    }
    while (power < 3 && strcmp(words[power], o->weights) != 0) power++;
    if (power == 3)
        return qb__fail(QB_BAD_ARGUMENT, "--weights %s is none of unweighted, transmission, transmission_root",
                        o->weights);
    *weigh_by = 0.5 * power;
    return QB_OK;
}
