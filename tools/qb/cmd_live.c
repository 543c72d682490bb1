/* SPDX-License-Identifier: MIT */
/* qb live: slices of a scan while it is taken, in a browser. */
#include <stdlib.h>

#include "view/live.h"
#include "view/serve.h"

static bool is_cone(const cli *c) { return c->options.geometry.sod > 0 || c->options.geometry.sdd > 0; }

/* The options of qb fbp or fdk that the sliders begin with. */
static qb_status take_options(cli *c) {
    qb_fbp_options *fbp = &c->options.fbp;
    const live_options *given = &c->options.live;
    qb_status status = QB_OK;
    if (c->options.geometry.geometry)
        return complain(QB_BAD_ARGUMENT,
                        "qb live knows parallel rays and circles: give --sod and --sdd, and leave --geometry out");
    if (is_cone(c) && given->center)
        return complain(QB_BAD_ARGUMENT, "--center is for parallel rays: give --detector-offset with --sod and --sdd");
    status = qb_params_init(qb_prep_params, &c->options.prep);
    if (status == QB_OK) status = qb_params_init(qb_fbp_params, fbp);
    if (status == QB_OK) status = qb_params_init(qb_fdk_params, &c->options.fdk);
    if (status == QB_OK && is_cone(c) && given->filter)
        status = qb_params_set(qb_fdk_params, &c->options.fdk, "filter", given->filter);
    if (status == QB_OK && c->options.live.center)
        status = qb_params_set(qb_fbp_params, fbp, "center", c->options.live.center);
    if (status == QB_OK && c->options.live.filter)
        status = qb_params_set(qb_fbp_params, fbp, "filter", c->options.live.filter);
    return status;
}

qb_status cmd_live(cli *c) {
    view_serve_fn *serve;
    view_live *live = NULL;
    view_recon *recon = NULL;
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0); /* who looks must not keep the detector from its file */
    qb_status status = view_prepare(c, &serve);
    if (status == QB_OK) status = take_options(c);
    if (status == QB_OK) status = view_live_open(c, is_cone(c), &live);
    if (status == QB_OK) status = view_recon_open_live(c, is_cone(c), live, &recon);
    if (status == QB_OK)
        status =
            view_serve(c, serve, &(view_shown){.lane = view_recon_lane, .answer = view_recon_answer, .user = recon});
    view_recon_close(recon);
    view_live_close(live);
    qb_params_clear(qb_fdk_params, &c->options.fdk);
    qb_params_clear(qb_fbp_params, &c->options.fbp);
    qb_params_clear(qb_prep_params, &c->options.prep);
    return status;
}
