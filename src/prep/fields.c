/* SPDX-License-Identifier: MIT */
/* The pass that makes dark and 1/(flat - dark) of a scan of counts. */
#include "prep/fields.h"

#include <float.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain,
                   uint64_t *dead) {
    uint64_t none = 0;
    for (size_t i = 0; i < count; i++) {
        float beam = flat[i] - (dark ? dark[i] : 0), inverse = 1 / beam;
        bool alive = beam > 0 && beam <= FLT_MAX && inverse <= FLT_MAX;
        none += !alive;
        gain[i] = alive ? inverse : 0;
    }
    *dead = none;
}

qb_status qb__fields_load(qb_scan *scan, qb__fields *fields, uint64_t *dead) {
    const size_t pixels = fields->rows * fields->columns;
    qb_status status;
    QB__TRY(qb__alloc(pixels, sizeof(float), &fields->dark));
    QB__TRY(qb__alloc(pixels, sizeof(float), &fields->gain));
    QB__TRY(qb_scan_fields(scan, fields->row0, fields->row0 + fields->rows, fields->gain,
                           fields->dark));
    qb__prep_gain(fields->gain, fields->dark, pixels, fields->gain, dead);
out:
    return status;
}

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)options;
    return info->quantity == QB_COUNTS;
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && info->flats ? 2 : 0;
}

/* Counts without flats are only usable when the open beam can be found in the views themselves. */
static qb_status check_flats(const qb__pass *pass) {
    const char *path = qb_scan_describe(pass->scan)->path;
    if (!pass->options->air)
        return qb__fail(QB_BAD_INPUT,
                        "%s holds counts but no flats: give --flats FILE, --air X0:X1,Y0:Y1 or --air "
                        "auto, or say what the numbers are with --quantity",
                        path);
    qb__warn(pass->env, "%s has no flats: the open beam of each view's air region stands in for them",
             path);
    return QB_OK;
}

static qb_status measure(const qb__pass *pass) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    const size_t pixels = pass->fields->rows * pass->fields->columns;
    uint64_t dead;
    if (!info->flats) return check_flats(pass);
    qb_status status = qb__fields_load(pass->scan, pass->fields, &dead);
    if (status != QB_OK) return status;
    if (dead == pixels)
        return qb__fail(QB_BAD_INPUT,
                        "%s: no flat pixel is brighter than its dark field (all %zu are dead): are "
                        "--flats and --darks swapped?",
                        info->path, pixels);
    if (dead)
        qb__warn(pass->env, "%s: %llu of %zu flat pixels are dead; they are bridged by their neighbours",
                 info->path, (unsigned long long)dead, pixels);
    return QB_OK;
}

const qb__step qb__step_fields = {
    .name = "fields", .scope = QB__SCOPE_SCAN, .wanted = wanted, .fields = count, .measure = measure};
