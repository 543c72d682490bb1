/* SPDX-License-Identifier: MIT */
/* qb live: slices of a scan while it is taken, in a browser. */
#include <stdlib.h>

#include "view/live.h"
#include "view/serve.h"

/* The options of qb fbp that the sliders begin with. */
static qb_status take_options(cli *c) {
    qb_fbp_options *fbp = &c->options.fbp;
    qb_status status = qb_params_init(qb_prep_params, &c->options.prep);
    if (status == QB_OK) status = qb_params_init(qb_fbp_params, fbp);
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
    if (status == QB_OK) status = view_live_open(c, &live);
    if (status == QB_OK) status = view_recon_open_live(c, live, &recon);
    if (status == QB_OK)
        status =
            view_serve(c, serve, &(view_shown){.lane = view_recon_lane, .answer = view_recon_answer, .user = recon});
    view_recon_close(recon);
    view_live_close(live);
    qb_params_clear(qb_fbp_params, &c->options.fbp);
    qb_params_clear(qb_prep_params, &c->options.prep);
    return status;
}
