/* SPDX-License-Identifier: MIT */
#include "recon/convert/conversion.h"

#include <math.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "job/grey_levels.h"
#include "job/job.h"
#include "quickbeam/io.h"

static qb_status check_range(const qb_convert_options *o, qb__revalue *r) {
    const qb_numbers *range = &o->range;
    r->given = range->count > 0;
    if (!r->given) return QB_OK;
    if (!r->used || qb_dtype_is_float(r->to))
        return qb__fail(QB_BAD_ARGUMENT, "--range is for --dtype uint16 or uint8 only");
    r->low = range->value[0], r->high = range->value[1];
    return qb__range_check(range);
}

qb_status qb__revalue_begin(const qb_convert_options *o, const qb__source *source, qb__revalue *r) {
    *r = (qb__revalue){
        .from = source->dtype, .to = source->dtype, .step = 1, .pixels = source->shape[1] * source->shape[2]};
    r->used = o->dtype && *o->dtype;
    const bool ranged = qb__source_ranged(source, &r->base, &r->step);
    if (!ranged) r->base = 0, r->step = 1;
    if (r->used && (!qb_dtype_parse(o->dtype, &r->to) ||
                    (r->to != QB_F32 && r->to != QB_F16 && r->to != QB_U16 && r->to != QB_U8)))
        return qb__fail(QB_BAD_ARGUMENT, "--dtype %s: float32, float16, uint16 or uint8", o->dtype);
    const qb_status status = check_range(o, r);
    if (r->to == r->from && !r->given && (!ranged || !qb_dtype_is_float(r->to))) r->used = false;
    return status;
}

size_t qb__revalue_bytes(const qb__revalue *r) {
    return r->used ? r->pixels * (sizeof(float) + qb_dtype_size(r->to)) : 0;
}

/* Conversion of a block of images: floats, then the result. */
typedef struct sweep {
    qb__revalue *revalue;
    const char *stored;
    float *values;
    char *made; /* the result; NULL: only the range of values is looked for */
    _Atomic uint64_t outside, missing;
} sweep;

static size_t count_missing(const char *stored, qb_dtype dtype, size_t count) {
    size_t missing = 0;
    if (dtype == QB_F64) {
        const double *v = (const double *)(const void *)stored;
        for (size_t i = 0; i < count; i++) missing += isnan(v[i]);
    } else if (dtype == QB_F32) {
        const float *v = (const float *)(const void *)stored;
        for (size_t i = 0; i < count; i++) missing += isnan(v[i]);
    } else if (dtype == QB_F16) {
        const uint16_t *v = (const uint16_t *)(const void *)stored;
        for (size_t i = 0; i < count; i++) missing += (v[i] & 0x7fff) > 0x7c00;
    }
    return missing;
}

static qb_status count_image(void *context, size_t image, size_t worker) {
    (void)worker;
    sweep *s = context;
    const qb__revalue *r = s->revalue;
    atomic_fetch_add(&s->missing,
                     count_missing(s->stored + image * r->pixels * qb_dtype_size(r->from), r->from, r->pixels));
    return QB_OK;
}

static qb_status convert_image(void *context, size_t image, size_t worker) {
    (void)worker;
    sweep *s = context;
    const qb__revalue *r = s->revalue;
    float *values = s->values + image * r->pixels;
    qb_convert_to_float(s->stored + image * r->pixels * qb_dtype_size(r->from), r->from, r->pixels, values);
    if (r->step != 1 || r->base != 0)
        for (size_t i = 0; i < r->pixels; i++) values[i] = (float)(r->base + r->step * (double)values[i]);
    if (!s->made) return QB_OK;
    atomic_fetch_add(&s->outside, qb_count_outside(values, r->pixels, r->to, r->low, r->high));
    qb_convert_from_float(values, r->pixels, r->to, r->low, r->high,
                          s->made + image * r->pixels * qb_dtype_size(r->to));
    return QB_OK;
}

/* Start of the floats. The buffer holds stored images, then floats, then the result, each at a multiple of 64 bytes. */
static float *floats_behind(const qb__revalue *r, size_t count, char *images) {
    return (float *)(images + qb__round_up(count * r->pixels * qb_dtype_size(r->from), 64));
}

qb_status qb__revalue_range(qb__revalue *r, qb__source *source, size_t block, char *images, const qb_env *env) {
    uint64_t *bins = NULL;
    qb_status status;
    if (!r->used || r->given || qb_dtype_is_float(r->to)) return QB_OK;
    QB__TRY(qb__alloc(QB__VALUE_BINS, sizeof *bins, &bins));
    for (size_t first = 0; first < source->shape[0]; first += block) {
        const size_t count = qb__smaller(block, source->shape[0] - first);
        const qb__region region = {first, count, 1, 0, source->shape[1]};
        sweep s = {.revalue = r, .stored = images, .values = floats_behind(r, block, images)};
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb__source_check_holes(source, NULL, first, count, 1));
        QB__TRY(source->read(source, &region, images));
        QB__TRY(qb__share(source->threads, count, convert_image, &s));
        qb__value_bins_add(bins, s.values, count * r->pixels);
    }
    qb__value_bins_range(bins, &r->low, &r->high);
    qb__info(env, "integer range %g..%g, from the whole volume", r->low, r->high);
out:
    qb__free(bins);
    return status;
}

qb_status qb__revalue_images(qb__revalue *r, size_t threads, size_t count, char *images, const void **out) {
    *out = images;
    r->images += count;
    if (qb_dtype_is_float(r->from)) {
        sweep all = {.revalue = r, .stored = images};
        const qb_status status = qb__share(threads, count, count_image, &all);
        if (status != QB_OK) return status;
        r->missing += atomic_load(&all.missing);
    }
    if (!r->used) return QB_OK;
    float *values = floats_behind(r, count, images);
    sweep s = {.revalue = r, .stored = images, .values = values, .made = (char *)(values + count * r->pixels)};
    *out = s.made;
    const qb_status status = qb__share(threads, count, convert_image, &s);
    r->outside += atomic_load(&s.outside);
    return status;
}

/* NaN, which integers do not have. */
static void report_missing(const qb__revalue *r, double all, cJSON *report, const qb_env *env) {
    const double part = 100 * (double)r->missing / all;
    if (!r->missing) return;
    cJSON_AddNumberToObject(report, "missing_values", (double)r->missing);
    if (qb_dtype_is_float(r->to))
        qb__info(env, "%llu of %.0f values (%.3g %%) are missing: they are written as missing",
                 (unsigned long long)r->missing, all, part);
    else
        qb__warn(
            env,
            "%llu of %.0f values (%.3g %%) are missing (NaN): they are 0 in %s, which stands for %g; --dtype float32 "
            "keeps them" QB__CODE("range-clamped"),
            (unsigned long long)r->missing, all, part, qb_dtype_name(r->to), r->low);
}

void qb__revalue_report(const qb__revalue *r, cJSON *report, const qb_env *env) {
    char limits[64] = "-65504..65504";
    const double all = (double)r->pixels * (double)r->images;
    report_missing(r, all, report, env);
    if (!r->used || r->to == QB_F32) return;
    const uint64_t clamped = r->outside - r->missing; /* NaN lies outside of every range */
    cJSON_AddNumberToObject(report, "clamped_values", (double)clamped);
    if (!clamped) return;
    /* An automatic range clips a few values on purpose. */
    const bool meant = !r->given && (double)clamped < 1e-3 * all;
    if (!qb_dtype_is_float(r->to)) qb__print(limits, sizeof limits, "%g..%g", r->low, r->high);
    qb__log(env, meant ? QB_LOG_INFO : QB_LOG_WARNING, "%llu of %.0f values (%.3g %%) lie outside %s: clamped in %s%s",
            (unsigned long long)clamped, all, 100 * (double)clamped / all, limits, qb_dtype_name(r->to),
            meant ? "" : QB__CODE("range-clamped"));
}
