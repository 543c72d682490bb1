/* SPDX-License-Identifier: MIT */
/* The pass that computes dark and 1/(flat - dark) for a scan of counts. */
#include "prep/fields.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/partition.h"
#include "io/scan/scan.h"

/* Returns how many are 0. Without branches, so that compilers make vectors of it. */
static uint32_t gains(const float *flat, const float *dark, uint32_t count, float *gain) {
    uint32_t none = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float beam = flat[i] - (dark ? dark[i] : 0), inverse = 1 / beam;
        const bool alive = (beam > 0) & (beam <= FLT_MAX) & (inverse <= FLT_MAX);
        none += !alive;
        gain[i] = alive ? inverse : 0;
    }
    return none;
}

void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain, uint64_t *dead) {
    enum { RUN = 4096 };
    *dead = 0;
    for (size_t i = 0; i < count; i += RUN)
        *dead += gains(flat + i, dark ? dark + i : NULL, (uint32_t)qb__smaller(RUN, count - i), gain + i);
}

qb_status qb__fields_make(const qb__fields *fields, float value, float **field) {
    if (*field) return QB_OK;
    const size_t pixels = fields->rows * fields->columns;
    qb_status status = qb__alloc(pixels, sizeof(float), field);
    for (size_t i = 0; status == QB_OK && i < pixels; i++) (*field)[i] = value;
    return status;
}

qb_status qb__fields_load(qb_scan *scan, qb__fields *fields, uint64_t *dead) {
    const size_t pixels = fields->rows * fields->columns;
    qb_status status;
    QB__TRY(qb__alloc(pixels, sizeof(float), &fields->dark));
    QB__TRY(qb__alloc(pixels, sizeof(float), &fields->gain));
    if (!scan->flat) { /* --air sets the level */
        *dead = 0;
        for (size_t i = 0; i < pixels; i++) fields->gain[i] = 1;
        memcpy(fields->dark, scan->dark + fields->row0 * fields->columns, pixels * sizeof(float));
        goto out;
    }
    QB__TRY(qb_scan_fields(scan, fields->row0, fields->row0 + fields->rows, fields->gain, fields->dark));
    qb__prep_gain(fields->gain, fields->dark, pixels, fields->gain, dead);
out:
    return status;
}

qb_status qb__fields_share(const qb__fields *fields, qb__comm *comm, float *field) {
    qb_status status = QB_OK;
    for (int rank = 0; fields->all && status == QB_OK && rank < qb__comm_count(comm); rank++) {
        size_t first, count;
        qb__cut_rank(fields->rows, 1, qb__comm_count(comm), rank, &first, &count);
        status =
            qb__comm_bcast(comm, QB_OK, rank, field + first * fields->columns, count * fields->columns * sizeof *field);
    }
    return status;
}

/* Number of dead pixels in the rows of this rank. Masked and stuck pixels were reported before. */
static uint64_t dead_of(const qb__fields *fields, const unsigned char *unmeasured) {
    uint64_t dead = 0;
    if (unmeasured) unmeasured += fields->row0 * fields->columns;
    for (size_t i = (fields->own0 - fields->row0) * fields->columns;
         i < (fields->own1 - fields->row0) * fields->columns; i++)
        dead += fields->gain[i] == 0 && !(unmeasured && unmeasured[i]);
    return dead;
}

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)options;
    return info->quantity == QB_COUNTS;
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && (info->flats || info->darks) ? 2 : 0;
}

/* Seconds to compute means of frames, in one thread. */
static double seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads) {
    (void)options, (void)threads;
    return (double)(info->flats + info->darks) * (double)rows * (double)info->columns * 2e-9;
}

/* Counts without flats are only usable if the open beam can be found in the views themselves. */
static qb_status check_flats(const qb__pass *pass) {
    const char *path = qb_scan_describe(pass->scan)->path;
    if (!pass->options->air)
        return qb__fail(QB_BAD_INPUT,
                        "%s holds counts but no flats: give --flats FILE, --air X0:X1,Y0:Y1 or --air "
                        "auto, or say what the numbers are with --quantity",
                        path);
    qb__warn(pass->env, "%s has no flats: the air region of each view replaces them" QB__CODE("air-for-flats"), path);
    return QB_OK;
}

static qb_status measure(const qb__pass *pass) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    qb__fields *fields = pass->fields;
    /* dead pixels, and all pixels; of all ranks */
    uint64_t sum[2] = {0, (fields->own1 - fields->own0) * fields->columns};
    qb_status status = info->flats ? QB_OK : check_flats(pass);
    if (status != QB_OK || !(info->flats || info->darks)) return status;
    status = fields->rows ? qb__fields_load(pass->scan, fields, &sum[0]) : QB_OK;
    if (status == QB_OK) sum[0] = dead_of(fields, pass->scan->unmeasured);
    status = qb__comm_sum(qb__comm_of(pass->env), status, sum, 2);
    if (status != QB_OK) return status;
    const size_t dead = sum[0], pixels = sum[1];
    if (dead == pixels)
        return qb__fail(QB_BAD_INPUT,
                        "%s: no flat pixel is brighter than its dark field (all %zu are dead): are "
                        "--flats and --darks swapped?",
                        info->path, pixels);
    if (dead)
        qb__warn(pass->env, "%s: %zu of %zu flat pixels are dead: they %s" QB__CODE("dead-flat"), info->path, dead,
                 pixels,
                 pass->keep_lost ? "count as not measured" : "are replaced by interpolation between their neighbours");
    if (info->flats_how) snprintf(pass->note, pass->note_size, "%s", info->flats_how);
    return QB_OK;
}

const qb__step qb__step_fields = {.name = "fields",
                                  .scope = QB__SCOPE_SCAN,
                                  .wanted = wanted,
                                  .fields = count,
                                  .seconds = seconds,
                                  .measure = measure};
