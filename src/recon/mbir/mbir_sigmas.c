/* SPDX-License-Identifier: MIT */
/* Values found in the data before the descent: weights from a file, sigma_x and sigma_y. */
#include <math.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "job/job.h"
#include "quickbeam/io.h"
#include "recon/mbir/mbir.h"

double qb__mbir_limit(const float *lines, size_t count, size_t step) {
    size_t seen[QB__SIZE_BINS + 1] = {0}, measured = 0, above = 0, bin = QB__SIZE_BINS;
    for (size_t i = 0; i < count; i += step) {
        if (isnan(lines[i])) continue;
        seen[qb__size_bin(lines[i])]++;
        measured++;
    }
    while (bin > 0 && above + seen[bin] <= measured / 200) above += seen[bin--];
    return fmax(25, 5 * qb__size_of_bin(bin + 1));
}

/* A ray has met the object if its line integral is more than 5 % of the mean. A masked ray (NaN) has not. */
qb__mbir_sigmas qb__mbir_sigmas_of(const float *lines, const float *weights, size_t count, double width,
                                   double relative_voxel, double sharpness, double snr_db) {
    const double limit = qb__mbir_limit(lines, count, 1);
    double mean = 0, sum = 0, square = 0, weight = 0;
    size_t met = 0, measured = 0, left_out = 0;
    for (size_t i = 0; i < count; i++) {
        left_out += fabs((double)lines[i]) > limit;
        if (!(fabs((double)lines[i]) <= limit)) continue;
        mean += fabs((double)lines[i]);
        measured++;
    }
    mean /= measured ? (double)measured : 1;
    for (size_t i = 0; i < count; i++) {
        const double y = (double)lines[i];
        if (!(y > 0.05 * mean) || y > limit) continue;
        met++;
        sum += y;
        square += (double)weights[i] * y * y;
        weight += (double)weights[i];
    }
    const qb__mbir_sigmas none = {.x = 1, .y = 1, .p = 10, .limit = limit, .left_out = left_out, .of = count};
    if (!met) return none;
    const double typical = sum / (double)met / width, rms = sqrt(square / (double)met) * sqrt(relative_voxel);
    const double y = rms * pow(10, -snr_db / 20);
    qb__mbir_sigmas sigmas = none;
    sigmas.x = 0.2 * exp2(sharpness) * typical;
    sigmas.p = 2 * exp2(sharpness) * typical;
    sigmas.y = y > 0 ? y : 1;
    sigmas.rms = rms;
    sigmas.weight = weight / (double)met;
    sigmas.met = true;
    return sigmas;
}

static qb_status load_weights(qb__mbir *m, const qb__running *run) {
    if (!m->terms.weights_file) return QB_OK;
    qb_status status = qb_array_load_values(m->terms.weights_file, NULL, &m->measured.weights, NULL);
    if (status == QB_OK) status = qb_array_to_float(&m->measured.weights);
    if (status != QB_OK) return status;
    const size_t count = m->info->views * m->info->rows * m->info->columns;
    if (qb_array_count(&m->measured.weights) != count)
        return qb__fail(QB_BAD_INPUT, "%s has changed since it was looked at", m->terms.weights_file);
    qb__content_add(run->job->content, "weights", m->measured.weights.data, count * sizeof(float));
    return QB_OK;
}

/* Find the noise of the line integrals, and sigma_y from it. */
static qb_status look_at_noise(const qb__mbir *m, const float *lines, const float *weights, size_t rows,
                               qb__mbir_sigmas *usual) {
    const double voxel = m->grid.voxel[0];
    size_t *order = NULL;
    double views = 0;
    qb_status status;
    if (!usual->met) return QB_OK;
    QB__TRY(qb__alloc(m->info->views, sizeof *order, &order));
    QB__TRY(qb__mbir_views_around(m, &views, order));
    usual->noise = qb__mbir_noise(lines, weights, rows, m->info->views, m->info->columns, order, usual->limit,
                                  m->info->quantity != QB_LINE_INTEGRAL);
    const double information = usual->weight * views * voxel * voxel * voxel / m->pixel;
    const double y = qb__mbir_sigma_y(usual->noise, information, usual->x, m->any);
    if (y > 0) usual->y = y;
out:
    qb__free(order);
    return status;
}

/* Compute sigmas from a few rows of the scan, the same for every cut. Each rank contributes the rows of its own
 * slices. */
static qb_status look(const qb__mbir *m, const qb__running *run, qb__mbir_sigmas *usual, qb__mbir_sigmas *told) {
    const bool by_noise = isnan(m->options->snr_db);
    qb__comm *comm = qb__comm_of(run->env);
    const size_t slices = m->rows, rows = qb__smaller(QB__MBIR_LOOK, slices);
    const size_t one = m->info->views * m->info->columns;
    size_t looked_at[QB__MBIR_LOOK] = {0};
    float *lines = NULL, *weights = NULL;
    qb__prep_counts *counts = NULL; /* discarded, because these rows are counted when they are reconstructed */
    qb_status status;
    QB__TRY(qb__alloc(rows * one, sizeof *lines, &lines));
    QB__TRY(qb__alloc(rows * one, sizeof *weights, &weights));
    QB__TRY(qb__alloc((size_t)qb__pool_threads(run->pool), sizeof *counts, &counts));
    for (size_t i = 0; i < rows; i++) {
        const size_t slice = (2 * i + 1) * slices / (2 * rows), row = m->first_row + slice;
        looked_at[i] = row;
        const int owner = qb__cut_owner(slices, m->grain, qb__comm_count(comm), slice);
        if (qb__comm_rank(comm) == owner)
            status = qb__prepare_rows(run->prepare, m->scan, row, row + 1, run->pool, lines + i * one, counts);
        QB__TRY(qb__comm_bcast(comm, status, owner, lines + i * one, one * sizeof *lines));
        if (m->terms.weights_file) qb__mbir_weights(m, row, 1, weights + i * one);
    }
    for (size_t i = 0; !m->terms.weights_file && i < rows * one; i++)
        weights[i] = qb__icd_weigh(m->settings.weighting, lines[i]);
    const double width = (double)m->info->columns * m->pixel, voxel = m->grid.voxel[0] / m->pixel;
    *usual = qb__mbir_sigmas_of(lines, weights, rows * one, width, voxel, 0, 40);
    QB__TRY(look_at_noise(m, lines, weights, rows, usual));
    *told = qb__mbir_sigmas_of(lines, weights, rows * one, width, voxel, m->options->sharpness,
                               by_noise ? 0 : m->options->snr_db);
    told->noise = usual->noise;
    if (by_noise) told->y = usual->y;
    const qb__mbir_sample sample = {lines, looked_at, rows, told->limit};
    status = qb__mbir_fit_check(m, &sample, run->env);
out:
    QB__FREE(lines, weights, counts);
    return status;
}

/* The squares of sigmas, and those of much smaller differences, must be normal 32-bit numbers. Otherwise no voxel would
 * change, or values would overflow. */
static qb_status check_size(const qb__mbir *m) {
    static const double least = 1e-17;
    const qb_mbir_options *o = m->options;
    const double prior = m->images.proximal ? m->measured.sigmas.p : m->measured.sigmas.x;
    const char *name = m->images.proximal ? "p" : "x";
    if (prior >= least && m->measured.sigmas.y >= least) return QB_OK;
    const bool asked = prior >= least ? o->sigma_y > 0 : (m->images.proximal ? o->sigma_p : o->sigma_x) > 0;
    if (asked)
        return qb__fail(QB_BAD_ARGUMENT, "--sigma-%s %g: 32-bit numbers take no less than %g",
                        prior >= least ? "y" : name, prior >= least ? m->measured.sigmas.y : prior, least);
    return qb__fail(QB_BAD_INPUT,
                    "%s: its line integrals are next to nothing: sigma_%s comes to %.3g and sigma_y to %.3g, where "
                    "32-bit numbers take "
                    "no less than %g; scale them, or say by --quantity what they are",
                    m->info->path, name, prior, m->measured.sigmas.y, least);
}

typedef struct scale {
    const char *name, *knob;
    double value, usual;
    bool smooths; /* a larger value gives a smoother image */
} scale;

static void warn_of(const scale *s, const qb_env *env) {
    const double times = s->value / s->usual;
    const bool smooth = s->smooths ? times > 30 : times < 1e-2, loose = s->smooths ? times < 1e-4 : times > 1e4;
    const double to = s->usual * (s->smooths ? 3 : 0.2), from = s->usual * (s->smooths ? 0.1 : 10);
    if (!smooth && !loose) return;
    qb__warn(env,
             "sigma_%s %.3g is %.2g times that of the data (%.3g): %s; give --sigma-%s %.2g to %.2g %s, or %s" QB__CODE(
                 "sigma-scale"),
             s->name, s->value, times, s->usual, smooth ? "the image becomes flat" : "the image takes all the noise",
             s->name, fmin(to, from), fmax(to, from), s->smooths ? "(units of the data)" : "(1/mm)", s->knob);
}

/* A value so far from the usual is probably in other units. On the smooth side an edge of the full attenuation beyond
 * 100 sigma_x disappears; on the other side nothing changes any more beyond about ten times, so a larger value may be
 * meant as no prior. */
static void check_usual(const qb__mbir *m, const qb__mbir_sigmas *usual, const qb_env *env) {
    const scale scales[] = {{"x", "--sharpness", m->measured.sigmas.x, usual->x, false},
                            {"y", "--snr-db", m->measured.sigmas.y, usual->y, true}};
    for (int i = 0; usual->met && !m->images.proximal && i < 2; i++) warn_of(&scales[i], env);
}

qb_status qb__mbir_measure(void *plan, const qb__running *run) {
    qb__mbir *m = plan;
    const qb_mbir_options *o = m->options;
    qb_status status = load_weights(m, run);
    const double prior = m->images.proximal ? o->sigma_p : o->sigma_x;
    qb__mbir_sigmas usual = {0}, told = {0};
    if (status == QB_OK) status = qb__mbir_images_load(m, run);
    const bool asked = !(prior > 0) || !(o->sigma_y > 0);
    if (status == QB_OK) status = look(m, run, &usual, &told);
    if (asked) m->measured.sigmas = told;
    qb__part_tag(m->measured.job, sizeof m->measured.job);
    status = qb__comm_bcast(qb__comm_of(run->env), status, 0, m->measured.job, sizeof m->measured.job);
    if (status != QB_OK) return status;
    if (o->sigma_x > 0) m->measured.sigmas.x = o->sigma_x;
    if (o->sigma_p > 0) m->measured.sigmas.p = o->sigma_p;
    if (o->sigma_y > 0) m->measured.sigmas.y = o->sigma_y;
    if (!isfinite(m->measured.sigmas.x) || !isfinite(m->measured.sigmas.p) || !isfinite(m->measured.sigmas.y))
        return qb__fail(QB_BAD_INPUT,
                        "%s holds numbers that are none: mask or mend them, or give --sigma-%c and --sigma-y",
                        m->info->path, m->images.proximal ? 'p' : 'x');
    QB__OR_RETURN(check_size(m));
    check_usual(m, &usual, run->env);
    char without[96] = "", why[96] = "";
    if (m->measured.sigmas.left_out)
        qb__print(without, sizeof without, ", told without %zu of %zu line integrals, which lie beyond %.4g",
                  m->measured.sigmas.left_out, m->measured.sigmas.of, m->measured.sigmas.limit);
    if (m->measured.sigmas.rms > 0)
        qb__print(why, sizeof why, " (%s %.3g dB; noise of a line integral %.3g)",
                  isnan(o->snr_db) && !(o->sigma_y > 0) ? "--snr-db auto:" : "signal-to-noise",
                  20 * log10(m->measured.sigmas.rms / m->measured.sigmas.y), m->measured.sigmas.noise);
    qb__info(run->env, "sigma_%c %.4g, sigma_y %.4g%s%s", m->images.proximal ? 'p' : 'x',
             m->images.proximal ? m->measured.sigmas.p : m->measured.sigmas.x, m->measured.sigmas.y, why, without);
    return QB_OK;
}

void qb__mbir_close(void *plan, bool named) {
    qb__mbir *m = plan;
    qb_array_destroy(&m->measured.weights);
    qb__mbir_images_release(m);
    if (named) qb__checkpoint_drop(&m->keep);
}

void qb__mbir_weights(const qb__mbir *m, size_t row, size_t slices, float *out) {
    const qb_scan_info *info = m->info;
    const float *all = m->measured.weights.data;
    for (size_t view = 0; view < info->views; view++)
        memcpy(out + view * slices * info->columns, all + (view * info->rows + row) * info->columns,
               slices * info->columns * sizeof *out);
}
