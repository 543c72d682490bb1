/* SPDX-License-Identifier: MIT */
#include "center/center_trial.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"
#include "ops/filter.h"
#include "planner/choose.h"

static const double pi = 3.14159265358979323846;

/* A small disc always lies in the field of view but misses the outer part of the object; a large disc includes its rim.
 * Neither is right for all objects, so their entropies are added. */
enum { DISCS = 3, GREY_LEVELS = 256, OUTSIDE = DISCS };
static const double disc_radius[DISCS] = {0.25, 0.35, 0.45}; /* radii in parts of the width */

struct qb__center_trial {
    const qb__center_rows *rows;
    size_t bin, width, pad; /* width: number of binned columns, before `pad` columns are added on either side */
    size_t views;           /* number of views after averaging */
    size_t *order, *start;  /* averaged view v is made of views order[start[v]] .. order[start[v + 1] - 1] */
    double *angles, *ax, *ay;
    float *weights;
    qb__filter *filter;
    const qb__bp_parallel_variant *variant;
    qb__bp_parallel_problem problem; /* h0 is set for each trial axis */
    unsigned lanes;
    size_t view_bytes, side;
    size_t packed_rows, *packed_row; /* the chosen rows */
    char *packed;
    unsigned char *zone; /* [side][side], index of the smallest disc that contains the pixel; OUTSIDE: none */
    size_t worker_bytes;
    char *workers;
};

/* Averages views at neighbouring angles, over the full turn, as long as they span less than `span`. */
static qb_status group_views(qb__center_trial *t, double span) {
    size_t n = t->rows->views;
    qb__direction *list;
    double *weights = NULL;
    qb_status status = qb__alloc(n, sizeof *list, &list);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(n, sizeof *t->order, &t->order));
    QB__TRY(qb__alloc(n + 1, sizeof *t->start, &t->start));
    QB__TRY(qb__alloc(n, sizeof *t->angles, &t->angles));
    for (size_t v = 0; v < n; v++) {
        double turns = t->rows->angles[v] / (2 * pi);
        list[v] = (qb__direction){(turns - floor(turns)) * 2 * pi, v};
    }
    qb__sort_directions(list, n);
    for (size_t first = 0, end; first < n; first = end) {
        double sum = 0;
        for (end = first; end < n && (end == first || list[end].angle - list[first].angle < span); end++) {
            sum += list[end].angle;
            t->order[end] = list[end].view;
        }
        t->start[t->views] = first;
        t->angles[t->views++] = sum / (double)(end - first);
    }
    t->start[t->views] = n;
    QB__TRY(qb__alloc(t->views, sizeof *weights, &weights));
    QB__TRY(qb__alloc(t->views, sizeof *t->weights, &t->weights));
    QB__TRY(qb__angle_weights_as(QB_WEIGHTS_CAPPED, t->views, t->angles, weights, NULL));
    for (size_t v = 0; v < t->views; v++) t->weights[v] = (float)weights[v];
out:
    QB__FREE(list, weights);
    return status;
}

static qb_status choose_kernel(qb__center_trial *t) {
    qb_status status;
    QB__TRY(qb__alloc(t->views, sizeof *t->ax, &t->ax));
    QB__TRY(qb__alloc(t->views, sizeof *t->ay, &t->ay));
    for (size_t v = 0; v < t->views; v++) {
        t->ax[v] = cos(t->angles[v]);
        t->ay[v] = sin(t->angles[v]);
    }
    t->side = (size_t)(2 * disc_radius[DISCS - 1] * (double)t->width) + 1;
    /* h0 is read only when a kernel runs; to compare kernels, any array of the right size will do. */
    t->problem = (qb__bp_parallel_problem){.views = t->views,
                                           .columns = t->width + 2 * t->pad,
                                           .nx = t->side,
                                           .ny = t->side,
                                           .ax = t->ax,
                                           .ay = t->ay,
                                           .h0 = t->angles};
    const qb__question question = {.operation = QB__BP_PARALLEL,
                                   .problem = &t->problem,
                                   .slices = 1,
                                   .interp = QB_INTERP_LINEAR,
                                   .accuracy = QB_ACCURACY_NORMAL};
    qb__choice choice;
    QB__TRY(qb__choose(&question, &choice));
    t->variant = (const qb__bp_parallel_variant *)choice.variant;
    t->lanes = t->variant->head.step;
    t->view_bytes = t->variant->view_bytes(&t->problem, t->lanes);
    QB__TRY(qb__filter_create("hann", QB_PAD_EDGE, t->problem.columns, 1, &t->filter));
out:
    return status;
}

static qb_status draw_zones(qb__center_trial *t) {
    qb_status status = qb__alloc(t->side * t->side, 1, &t->zone);
    if (status != QB_OK) return status;
    double middle = ((double)t->side - 1) / 2;
    for (size_t i = 0; i < t->side * t->side; i++) {
        double x = (double)(i % t->side) - middle, y = (double)(i / t->side) - middle;
        double radius = sqrt(x * x + y * y) / (double)t->width;
        unsigned char zone = 0;
        while (zone < DISCS && radius > disc_radius[zone]) zone++;
        t->zone[i] = zone;
    }
    return QB_OK;
}

/* Scratch of one worker: h0, the picture, and the scratch of the kernel or of the filter. */
static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }
static size_t picture_bytes(const qb__center_trial *t) { return align64(t->side * t->side * sizeof(float)); }
static size_t h0_bytes(const qb__center_trial *t) { return align64(t->views * sizeof(double)); }

/* Averages and bins the views of one group; the end values are repeated over the padding. */
static void gather(const qb__center_trial *t, size_t row, size_t view, float *binned, float *out) {
    size_t columns = t->rows->columns, w = t->width, first = t->start[view];
    size_t end = t->start[view + 1];
    float *inner = out + t->pad;
    memset(inner, 0, w * sizeof *inner);
    for (size_t i = first; i < end; i++) {
        const float *from = t->rows->sinograms + (row * t->rows->views + t->order[i]) * columns;
        qb__center_bin(from, columns, t->bin, binned);
        for (size_t k = 0; k < w; k++) inner[k] += binned[k];
    }
    float scale = 1 / (float)(end - first);
    for (size_t k = 0; k < w; k++) inner[k] *= scale;
    for (size_t k = 0; k < t->pad; k++) {
        out[k] = inner[0];
        inner[w + k] = inner[w - 1];
    }
}

static void pack_task(void *context, size_t task, int worker) {
    qb__center_trial *t = context;
    size_t slot = task / t->views, view = task % t->views;
    char *scratch = t->workers + (size_t)worker * t->worker_bytes;
    size_t line = align64(t->problem.columns * sizeof(float));
    float *out = (float *)scratch, *binned = (float *)(scratch + line);
    gather(t, t->packed_row[slot], view, binned, out);
    qb__filter_rows(t->filter, out, 1, t->problem.columns, t->weights[view], scratch + 2 * line);
    t->variant->pack(&t->problem, view, t->lanes, 1, out, t->problem.columns,
                     t->packed + (slot * t->views + view) * t->view_bytes);
}

static qb_status pack_rows(qb__center_trial *t, const unsigned char *pick) {
    qb_status status;
    QB__TRY(qb__alloc(t->rows->rows, sizeof *t->packed_row, &t->packed_row));
    for (size_t r = 0; r < t->rows->rows; r++) {
        if (!pick || pick[r]) t->packed_row[t->packed_rows++] = r;
    }
    size_t line = align64(t->problem.columns * sizeof(float));
    size_t filter = 2 * line + qb__filter_scratch(t->filter);
    size_t run = h0_bytes(t) + picture_bytes(t) + t->variant->scratch_bytes(&t->problem, t->lanes);
    t->worker_bytes = align64(filter > run ? filter : run);
    QB__TRY(qb__alloc((size_t)qb__pool_threads(t->rows->pool), t->worker_bytes, &t->workers));
    QB__TRY(qb__alloc(t->packed_rows * t->views, t->view_bytes, &t->packed));
    qb__pool_for(t->rows->pool, t->packed_rows * t->views, pack_task, t);
out:
    return status;
}

qb_status qb__center_trial_create(const qb__center_rows *rows, const unsigned char *pick, size_t bin, double per_width,
                                  qb__center_trial **trial) {
    *trial = NULL;
    qb__center_trial *t;
    qb_status status = qb__alloc(1, sizeof *t, &t);
    if (status != QB_OK) return status;
    t->rows = rows;
    t->bin = bin;
    t->width = rows->columns / bin;
    t->pad = t->width / 4;
    QB__TRY(group_views(t, pi / ((double)t->width * per_width)));
    QB__TRY(choose_kernel(t));
    QB__TRY(draw_zones(t));
    QB__TRY(pack_rows(t, pick));
out:
    if (status != QB_OK) {
        qb__center_trial_destroy(t);
        return status;
    }
    *trial = t;
    return QB_OK;
}

void qb__center_trial_destroy(qb__center_trial *t) {
    if (!t) return;
    QB__FREE(t->order, t->start, t->angles, t->ax, t->ay, t->weights);
    qb__filter_destroy(t->filter);
    QB__FREE(t->packed_row, t->packed, t->zone, t->workers, t);
}

/* Tells whether the tile overlaps the largest disc. */
static bool tile_matters(const qb__center_trial *t, size_t x0, size_t x1, size_t y0, size_t y1) {
    double middle = ((double)t->side - 1) / 2, radius = disc_radius[DISCS - 1] * (double)t->width;
    double x = fmin(fmax(middle, (double)x0), (double)x1 - 1) - middle;
    double y = fmin(fmax(middle, (double)y0), (double)y1 - 1) - middle;
    return x * x + y * y <= radius * radius;
}

static const float *draw(const qb__center_trial *t, size_t slot, double axis, int worker) {
    char *mine = t->workers + (size_t)worker * t->worker_bytes;
    double *h0 = (double *)mine;
    float *picture = (float *)(mine + h0_bytes(t));
    void *scratch = mine + h0_bytes(t) + picture_bytes(t);
    double middle = ((double)t->side - 1) / 2;
    double column = (axis + 0.5) / (double)t->bin - 0.5 + (double)t->pad;
    for (size_t v = 0; v < t->views; v++) h0[v] = column - middle * (t->ax[v] + t->ay[v]);
    qb__bp_parallel_problem problem = t->problem;
    problem.h0 = h0;
    size_t tile = t->variant->tile;
    for (size_t y0 = 0; y0 < t->side; y0 += tile) {
        size_t y1 = y0 + tile < t->side ? y0 + tile : t->side;
        for (size_t x0 = 0; x0 < t->side; x0 += tile) {
            size_t x1 = x0 + tile < t->side ? x0 + tile : t->side;
            if (tile_matters(t, x0, x1, y0, y1))
                t->variant->run(&problem, t->packed + slot * t->views * t->view_bytes, t->lanes, 1, x0, x1, y0, y1,
                                picture, t->side * t->side, t->side, scratch);
        }
    }
    return picture;
}

typedef struct scale {
    float low, high;
} scale;

struct entropy_job {
    const qb__center_trial *t;
    const double *axes;
    size_t count, samples, sampled, stride; /* sampled: number of axes that set the grey scale */
    float *sample;                          /* [slot][sampled][samples] */
    scale *scales;                          /* [slot] */
    double *entropy;                        /* [row][axis] */
};

static void sample_task(void *context, size_t task, int worker) {
    struct entropy_job *job = context;
    const qb__center_trial *t = job->t;
    size_t slot = task / job->sampled, s = task % job->sampled, n = 0;
    size_t axis = job->sampled > 1 ? s * (job->count - 1) / (job->sampled - 1) : job->count / 2;
    const float *picture = draw(t, slot, job->axes[axis], worker);
    float *sample = job->sample + task * job->samples;
    for (size_t i = 0; n < job->samples && i < t->side * t->side; i += job->stride) {
        if (t->zone[i] != OUTSIDE) sample[n++] = picture[i];
    }
    while (n < job->samples) sample[n] = n ? sample[n - 1] : 0, n++;
}

/* The range of values without the lowest and highest thousandth, widened by a quarter on either side. */
static void set_scale(struct entropy_job *job, size_t slot) {
    size_t n = job->sampled * job->samples;
    float *values = job->sample + slot * n;
    const size_t end = n - 1 - n / 1000;
    const float high = qb__float_at(values, n, end), low = qb__float_at(values, end + 1, n / 1000);
    const float more = 0.25f * (high - low) + 1e-20f;
    job->scales[slot] = (scale){low - more, high + more};
}

/* Each pixel is divided between the two nearest grey levels, so that the entropy changes smoothly. */
static void histogram(const qb__center_trial *t, const float *picture, scale grey,
                      double counts[DISCS][GREY_LEVELS + 1]) {
    float shares[DISCS + 1][GREY_LEVELS + 1] = {{0}};
    float factor = (GREY_LEVELS - 1) / (grey.high - grey.low);
    for (size_t i = 0; i < t->side * t->side; i++) {
        float *share = shares[t->zone[i]];
        if (t->zone[i] == OUTSIDE) continue;
        float place = (picture[i] - grey.low) * factor;
        if (!(place > 0)) place = 0;
        if (place > GREY_LEVELS - 1) place = GREY_LEVELS - 1;
        int g = (int)place;
        float rest = place - (float)g;
        share[g] += 1 - rest;
        share[g + 1] += rest;
    }
    for (int d = 0; d < DISCS; d++) {
        for (int g = 0; g < GREY_LEVELS; g++) counts[d][g] = (double)shares[d][g] + (d ? counts[d - 1][g] : 0);
    }
}

static double entropy_of(const double *counts) {
    double total = 0, sum = 0;
    for (int g = 0; g < GREY_LEVELS; g++) total += counts[g];
    for (int g = 0; g < GREY_LEVELS; g++) {
        if (counts[g] > 0) sum += counts[g] * log(counts[g]);
    }
    return total > 0 ? log(total) - sum / total : 0;
}

static void entropy_task(void *context, size_t task, int worker) {
    struct entropy_job *job = context;
    size_t slot = task / job->count, axis = task % job->count;
    if (qb__cancelled(job->t->rows->env)) return;
    const float *picture = draw(job->t, slot, job->axes[axis], worker);
    double counts[DISCS][GREY_LEVELS + 1], sum = 0;
    histogram(job->t, picture, job->scales[slot], counts);
    for (int d = 0; d < DISCS; d++) sum += entropy_of(counts[d]);
    job->entropy[job->t->packed_row[slot] * job->count + axis] = sum;
}

qb_status qb__center_trial_entropy(qb__center_trial *t, const double *axes, size_t count, double *entropy) {
    enum { STRIDE = 7, SAMPLED = 5 };
    struct entropy_job job = {.t = t,
                              .axes = axes,
                              .count = count,
                              .stride = STRIDE,
                              .sampled = count < SAMPLED ? count : SAMPLED,
                              .samples = t->side * t->side / STRIDE * 3 / 4 + 1,
                              .entropy = entropy};
    memset(entropy, 0, t->rows->rows * count * sizeof *entropy);
    qb_status status;
    QB__TRY(qb__alloc(t->packed_rows * job.sampled, job.samples * sizeof(float), &job.sample));
    QB__TRY(qb__alloc(t->packed_rows, sizeof *job.scales, &job.scales));
    qb__pool_for(t->rows->pool, t->packed_rows * job.sampled, sample_task, &job);
    for (size_t slot = 0; slot < t->packed_rows; slot++) set_scale(&job, slot);
    qb__pool_for(t->rows->pool, t->packed_rows * count, entropy_task, &job);
    status = qb__check_cancel(t->rows->env);
out:
    QB__FREE(job.sample, job.scales);
    return status;
}
