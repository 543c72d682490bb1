/* SPDX-License-Identifier: MIT */
#include "live_source.h"

#include <stdlib.h>

bool view_changes_images(const qb_scan_options *o) {
    return (o->bin && *o->bin) || (o->crop && *o->crop) || o->flip || o->rotate;
}

/* The changed image, which the caller frees; NULL: the image cannot be changed. */
static void *change(const view_changer *c, qb_dtype dtype, const void *values, qb_dtype *made) {
    const qb_tensor image = {.data = (void *)values,
                             .memory = QB_MEMORY_CPU,
                             .ndim = 3,
                             .dtype = dtype,
                             .shape = {1, (int64_t)c->rows, (int64_t)c->columns}};
    const qb_scan_options *o = c->options;
    const qb_scan_options as = {.quantity = c->quantity,
                                .keep_all_views = true,
                                .rotate = o->rotate,
                                .flip = o->flip,
                                .crop = o->crop,
                                .bin = o->bin};
    const double zero = 0;
    qb_scan *scan = NULL;
    void *out = NULL;
    if (qb_scan_from_tensor(&image, &zero, NULL, NULL, &as, NULL, &scan) != QB_OK) return NULL;
    const qb_scan_info *info = qb_scan_describe(scan);
    out = malloc(info->rows * info->columns * qb_dtype_size(info->dtype));
    *made = info->dtype;
    if (out && qb_scan_read(scan, 0, 1, 0, info->rows, out) != QB_OK) free(out), out = NULL;
    qb_scan_close(scan);
    return out;
}

static void view(void *user, size_t number, qb_dtype dtype, view_pixels *pixels) {
    const view_changer *c = user;
    qb_dtype made;
    void *out = change(c, dtype, pixels->values, &made);
    view_pixels changed = {out, out, free};
    if (out)
        c->to->view(c->to->user, number, made, &changed);
    else
        c->to->unreadable(c->to->user, number);
    view_pixels_release(&changed);
}

static void fields(void *user, const float *flat, const float *dark) {
    const view_changer *c = user;
    qb_dtype made;
    float *one = flat ? change(c, QB_F32, flat, &made) : NULL, *other = dark ? change(c, QB_F32, dark, &made) : NULL;
    c->to->fields(c->to->user, one, other);
    free(one);
    free(other);
}

static void unreadable(void *user, size_t number) {
    const view_changer *c = user;
    c->to->unreadable(c->to->user, number);
}

static void restart(void *user) {
    const view_changer *c = user;
    c->to->restart(c->to->user);
}

view_listener view_changer_listener(view_changer *c) {
    return (view_listener){.view = view, .fields = fields, .unreadable = unreadable, .restart = restart, .user = c};
}
