/* SPDX-License-Identifier: MIT */
/* Counts the masked values of a slab, and sets their weights to 0. */
#include "recon/mbir/mbir_descent.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

enum { SAMPLE = 1 << 19 }; /* number of values that decide the usual size, or at least a third as many */

typedef struct finding {
    const float *lines;
    float *weights; /* NULL: none are given */
    size_t slices, columns;
    qb__icd_weighting weighting;
    double limit;
    uint32_t *gone;    /* [view * slices + slice] number of masked columns */
    struct seen *seen; /* [view] */
} finding;

/* Findings about the measured values of a view. */
typedef struct seen {
    size_t low, high;     /* positions of the extremes in the line integrals */
    uint64_t far, counts; /* number of values beyond the limit, and of those with a weight */
    size_t first[2];      /* position of the first value of far, and of counts */
} seen;

static void see(seen *s, const float *lines, size_t at) {
    if (!(lines[s->low] <= lines[at])) s->low = at;
    if (!(lines[s->high] >= lines[at])) s->high = at;
}

/* Count a value beyond the limit. It affects the image if its weight times the value is not negligible compared with
 * that of a value around 1. */
static void see_far(seen *s, const finding *f, size_t at) {
    const float y = f->lines[at], weight = f->weights ? f->weights[at] : qb__icd_weigh(f->weighting, y);
    const bool counts = !(fabs((double)weight * (double)y) < 1e-3);
    if (!s->far++) s->first[0] = at;
    if (counts && !s->counts++) s->first[1] = at;
}

static void look_at_view(void *context, size_t view, int worker) {
    (void)worker;
    const finding *f = context;
    seen s = {.low = view * f->slices * f->columns, .high = view * f->slices * f->columns};
    for (size_t row = view * f->slices; row < (view + 1) * f->slices; row++) {
        const float *line = f->lines + row * f->columns;
        for (size_t c = 0; c < f->columns; c++) {
            if (!isnan(line[c])) {
                see(&s, f->lines, row * f->columns + c);
                if (fabs((double)line[c]) > f->limit) see_far(&s, f, row * f->columns + c);
                continue;
            }
            f->gone[row]++;
            if (f->weights) f->weights[row * f->columns + c] = 0;
        }
    }
    f->seen[view] = s;
}

static void count(const finding *f, size_t views, qb__mbir_masked *masked) {
    for (size_t view = 0; view < views; view++) {
        size_t empty = 0;
        for (size_t s = 0; s < f->slices; s++) {
            masked->values += f->gone[view * f->slices + s];
            empty += f->gone[view * f->slices + s] == f->columns;
        }
        masked->views += empty == f->slices;
    }
}

static void see_all_far(const finding *f, size_t views, size_t row, qb__mbir_masked *masked) {
    seen all = {0};
    for (size_t view = 0; view < views; view++) {
        const seen *s = &f->seen[view];
        if (!all.far) all.first[0] = s->first[0];
        if (!all.counts) all.first[1] = s->first[1];
        all.far += s->far, all.counts += s->counts;
    }
    const size_t at = all.first[all.counts > 0], line = f->slices * f->columns;
    masked->limit = f->limit;
    masked->far = all.far, masked->counts = all.counts;
    qb__print(masked->where, sizeof masked->where, "%.4g (view %zu, slice %zu, column %zu)", (double)f->lines[at],
              at / line, row + at / f->columns % f->slices, at % f->columns);
}

static void see_all(const finding *f, size_t views, size_t row, qb__mbir_masked *masked) {
    seen all = f->seen[0];
    for (size_t view = 1; view < views; view++) {
        const seen *s = &f->seen[view];
        if (!(f->lines[all.low] <= f->lines[s->low])) all.low = s->low;
        if (!(f->lines[all.high] >= f->lines[s->high])) all.high = s->high;
    }
    const size_t line = f->slices * f->columns;
    snprintf(masked->told, sizeof masked->told,
             "line integrals lie between %.4g (view %zu, slice %zu, column %zu) and %.4g (view %zu, slice %zu, column "
             "%zu), those of "
             "attenuation between 0 and about 10: set to NaN what was not measured, or say by --quantity what they are",
             (double)f->lines[all.low], all.low / line, row + all.low / f->columns % f->slices, all.low % f->columns,
             (double)f->lines[all.high], all.high / line, row + all.high / f->columns % f->slices,
             all.high % f->columns);
}

/* Factor of a slice's views in the start, which compensates for views without a value; 0 if no view has one. */
static float more_of(const qb__mbir *m, const finding *f, size_t slice) {
    double all = 0, some = 0;
    for (size_t view = 0; view < m->info->views; view++) {
        const double share = m->theta ? m->theta[view] : 1;
        all += share;
        if (f->gone[view * f->slices + slice] < f->columns) some += share;
    }
    return some > 0 ? (float)(all / some) : 0;
}

static bool is_empty(const qb__mbir *m, const finding *f, size_t slice) {
    for (size_t view = 0; view < m->info->views; view++)
        if (f->gone[view * f->slices + slice] < f->columns) return false;
    return true;
}

/* Refuse slices without a measured value, because none of their voxels would ever change. */
static qb_status check_slices(const qb__mbir *m, const finding *f, size_t row) {
    size_t first = 0, empty = 0;
    for (size_t s = f->slices; s-- > 0;) {
        if (!is_empty(m, f, s)) continue;
        first = s;
        empty++;
    }
    if (!empty) return QB_OK;
    if (empty == f->slices)
        return qb__fail(
            QB_BAD_INPUT,
            "%s: nothing was measured of slices %zu to %zu: all their values are NaN or infinite, or of dead pixels",
            m->info->path, row, row + f->slices - 1);
    return qb__fail(QB_BAD_INPUT,
                    "%s: nothing was measured of %zu slices, the first of them %zu: all its %zu x %zu values are NaN "
                    "or infinite, or of "
                    "dead pixels; leave it out by --slices A:B, or mend it",
                    m->info->path, empty, row + first, m->info->views, f->columns);
}

qb_status qb__mbir_masked_find(const qb__mbir *m, size_t row, size_t slices, const float *lines, float *weights,
                               qb__pool *pool, qb__mbir_masked *masked) {
    const size_t all = m->info->views * slices * m->info->columns;
    finding f = {.lines = lines,
                 .weights = weights,
                 .slices = slices,
                 .columns = m->info->columns,
                 .weighting = m->settings.weighting,
                 .limit = m->measured.sigmas.limit > 0 ? m->measured.sigmas.limit
                                                       : qb__mbir_limit(lines, all, 1 + 2 * (all / SAMPLE))};
    qb_status status;
    *masked = (qb__mbir_masked){0};
    QB__TRY(qb__alloc(m->info->views * slices, sizeof *f.gone, &f.gone));
    QB__TRY(qb__alloc(m->info->views, sizeof *f.seen, &f.seen));
    qb__pool_for(pool, m->info->views, look_at_view, &f);
    see_all(&f, m->info->views, row, masked);
    see_all_far(&f, m->info->views, row, masked);
    count(&f, m->info->views, masked);
    if (!masked->values) goto out;
    QB__TRY(check_slices(m, &f, row));
    QB__TRY(qb__alloc(slices, sizeof *masked->more, &masked->more));
    for (size_t s = 0; s < slices; s++) masked->more[s] = more_of(m, &f, s);
out:
    QB__FREE(f.seen, f.gone);
    return status;
}

void qb__mbir_masked_report(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked,
                            const qb_env *env) {
    const double all = (double)m->info->views * (double)slices * (double)m->info->columns;
    if (masked->values)
        qb__info(env,
                 "slices %zu to %zu: %llu of %.0f line integrals (%.3g %%) were not measured, and weigh nothing; %zu "
                 "of %zu views have none",
                 row, row + slices - 1, (unsigned long long)masked->values, all, 100 * (double)masked->values / all,
                 masked->views, m->info->views);
}

bool qb__mbir_far_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked, const qb_env *env) {
    char words[256];
    const double all = (double)m->info->views * (double)slices * (double)m->info->columns;
    const uint64_t many = masked->counts ? masked->counts : masked->far;
    if (!masked->far) return false;
    qb__print(
        words, sizeof words,
        "slices %zu to %zu: %llu of %.0f line integrals (%.3g %%) are beyond %.4g, far from the others (the first %s)",
        row, row + slices - 1, (unsigned long long)many, all, 100 * (double)many / all, masked->limit, masked->where);
    if (masked->counts)
        qb__warn(
            env,
            "%s: they leave streaks; set them to NaN, or their weight to 0 (--weights FILE)" QB__CODE("far-values"),
            words);
    else
        qb__info(env, "%s; they weigh nothing", words);
    return masked->counts > 0;
}

void qb__mbir_masked_note(const qb__mbir_masked *masked, cJSON *slab) {
    if (masked->far) {
        cJSON_AddNumberToObject(slab, "far", (double)masked->far);
        cJSON_AddNumberToObject(slab, "far_that_count", (double)masked->counts);
    }
    if (!masked->values) return;
    cJSON_AddNumberToObject(slab, "not_measured", (double)masked->values);
    cJSON_AddNumberToObject(slab, "views_without", (double)masked->views);
}

void qb__mbir_masked_release(qb__mbir_masked *masked) {
    qb__free(masked->more);
    masked->more = NULL;
}

size_t qb__mbir_masked_bytes(const qb__mbir *m, size_t slices) {
    return m->info->views * (slices * sizeof(uint32_t) + sizeof(seen)) + slices * sizeof(float);
}
