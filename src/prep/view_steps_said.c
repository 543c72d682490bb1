/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/warning.h"
#include "prep/view_steps.h"

bool qb__view_steps_misfit(const qb__view_steps *found) {
    return found->flipped > 0 || found->unlike > 0 || found->apart > 0 || found->turn[0] != found->turn[1];
}

void qb__view_steps_warn(const qb__view_steps *found, const qb_env *env) {
    if (found->flipped > 0)
        qb__warn(
            env,
            "every second view is mirrored left to right: each is %.2g times more like the mirror image of the next "
            "one than like that; mirror these views back" QB__CODE("views-mirrored"),
            found->flipped);
    else if (found->unlike > 0)
        qb__warn(env,
                 "neighbouring views differ as much as distant ones (%.2g times): the angles belong to other views; "
                 "check --angles and the order of the files" QB__CODE("angles-misfit"),
                 found->unlike);
    else if (found->apart > 0)
        qb__warn(env,
                 "views next to each other by angle differ %.2g times as much as those one after the other in the "
                 "file: check --angles and their unit" QB__CODE("angles-misfit"),
                 found->apart);
    const double DEGREE = 57.29577951308232;
    if (found->turn[0] != found->turn[1])
        qb__warn(env,
                 "from view %zu to the next the stated angle jumps from %.4g to %.4g degrees, but the image does not: "
                 "the list is wrong from there on; check --angles" QB__CODE("angle-jump"),
                 found->held, DEGREE * found->turn[0], DEGREE * found->turn[1]);
    if (found->jumps)
        qb__warn(env,
                 "from view %zu to the next the image changes %.2g times as much as nearby (%zu such jumps): views are "
                 "missing or exchanged, or the object moved; check --angles" QB__CODE("views-jump"),
                 found->view, found->larger, found->jumps);
}
