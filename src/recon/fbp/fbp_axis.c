/* SPDX-License-Identifier: MIT */
/* The rotation axis: the search for it, its use, and what an axis near one side changes. */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "center/center.h"
#include "io/scan/scan.h"
#include "recon/fbp/fbp.h"

const float *qb__fbp_share_of(const qb__fbp *fbp, size_t view) {
    return fbp->view_share ? fbp->view_share + view * fbp->info->columns : fbp->share;
}

static void share_columns(qb__fbp *fbp, double center, float *share) {
    const size_t columns = fbp->info->columns;
    if (!fbp->view_share) {
        qb__half_fan_shares(columns, center, share);
        return;
    }
    for (size_t c = 0; c < columns; c++) share[c] = 1;
    for (size_t v = 0; v < fbp->info->views; v++)
        qb__half_fan_view_shares(&fbp->turn, v, columns, center, fbp->view_share + v * columns);
}

double qb__fbp_column(const qb__fbp *fbp, double column) {
    return qb__column_whole(fbp->info, column) - qb__axis_shift(fbp->info, fbp->options->tilt);
}

qb_status qb__fbp_aim(qb__fbp *fbp, double center) {
    double columns = (double)fbp->info->columns;
    const double asked = center;
    center = qb__roll_column(&fbp->roll, center);
    if (!(center >= 0 && center <= columns - 1))
        return qb__fail(QB_BAD_ARGUMENT, "--center %g lies outside the detector's columns %g..%g",
                        qb__fbp_column(fbp, asked), qb__column_whole(fbp->info, 0),
                        qb__column_whole(fbp->info, columns - 1));
    double left = center, right = columns - 1 - center;
    double field = 0.5 + (fbp->fan.used ? fmax(left, right) : fmin(left, right));
    qb__fov_circle(field * fbp->pixel, &fbp->mask.fov);
    qb_geometry geometry;
    QB__OR_RETURN(qb_geometry_parallel(fbp->info->views, fbp->info->angles, fbp->info->rows, fbp->width, fbp->pixel,
                                       center + (double)fbp->fan.before, &geometry));
    for (size_t i = 0; fbp->axis && i < geometry.views; i++) {
        qb_view *view = &geometry.view[i];
        for (int j = 0; j < 3; j++) view->detector[j] -= (fbp->axis[i] - center) * view->u[j];
    }
    if (fbp->share) share_columns(fbp, center, fbp->share);
    qb_status status = qb__grid_check_fov(&geometry, &fbp->region.whole);
    if (status == QB_OK) status = qb__parallel_rows(&geometry, &fbp->region.whole, fbp->ax, fbp->ay, fbp->h0);
    qb_geometry_destroy(&geometry);
    return status;
}

static qb_status find(qb__fbp *fbp, const qb_env *env, cJSON *report) {
    qb_center_options options = {
        .method = fbp->options->center, .search = fbp->options->search, .tilt = fbp->options->tilt};
    double column = NAN;
    qb_status status = qb__center_seek(fbp->scan, fbp->prep, &options, env, report, &column);
    if (status == QB_OK) qb__fbp_take_axis(fbp, column);
    return status;
}

/* Search for the axis. If it is found near one side, rows must be wider; then the default grid and all that depends on
 * its size are decided again. */
qb_status qb__fbp_begin(void *plan, const qb_env *env, cJSON *report, bool *anew) {
    qb__fbp *fbp = plan;
    if (isnan(fbp->center)) {
        qb__half_fan fan = {0};
        qb_status status = find(fbp, env, report);
        const double column = qb__roll_column(&fbp->roll, fbp->center);
        if (status == QB_OK)
            status =
                qb__half_fan_of_views(fbp->info->views, fbp->info->angles, fbp->info->columns, column, column, &fan);
        if (status != QB_OK) return status;
        *anew = fan.off_center; /* the advice for less than a turn depends on it */
    }
    return *anew ? QB_OK : qb__fbp_aim(fbp, fbp->center);
}

void qb__fbp_describe_turn(const qb__fbp *fbp, char *text, size_t size) {
    const qb__half_fan *fan = &fbp->fan;
    double end = (double)fan->columns - 1, narrow = fmin(fbp->center, end - fbp->center);
    char turn[48];
    text[0] = 0;
    if (!fan->used) return;
    qb__half_fan_turn(fan, turn, sizeof turn);
    snprintf(text, size,
             "%s, the axis at column %.2f of %zu: opposite views share the %.0f columns "
             "that both saw, and rows go on by %zu columns to the %s",
             turn, fbp->center, fan->columns, floor(2 * narrow) + 1, fan->before + fan->after,
             fan->before ? "left" : "right");
}
