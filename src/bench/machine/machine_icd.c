/* SPDX-License-Identifier: MIT */
/* Rates of coordinate descent on this machine's CPU: starts and sweeps over a disc of voxels with footprints of usual
 * size, for each storage of the matrix. */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "bench/machine/machine_parts.h"
#include "planner/choose.h"
#include "planner/rates.h"
#include "recon/mbir/icd/icd_stack.h"

enum { SIDE = 192, RADIUS = 48, MANY = 256, FEW = 16, TURNS = 2, PARTS = 4, TIMES = 3 };
static const double pi = 3.14159265358979, little = 0.01;

typedef struct descending {
    const qb_env *env;
    qb__pool *pool;
    size_t views, slices;
    double theta[MANY];
    qb_geometry geometry;
    qb__system_matrix matrix;
    const char *kernel;
    qb__filter *filter;
    qb__icd_settings settings;
    float *lines;
    /* processor time of all threads: for the matrix, for the start, and for the fastest equit */
    double matrix_cpu, start_cpu, turn_cpu;
    double since, equits; /* start of the current sweep, and the equits before it */
} descending;

static qb_status make(descending *d) {
    const qb_grid grid = {{SIDE, SIDE, d->slices}, {1, 1, 1}, {0, 0, 0}};
    const qb__icd_size size = {
        .views = d->views, .columns = SIDE, .pixels = qb__icd_pixels(SIDE, SIDE, RADIUS), .taps = 3};
    const qb__question question = {.operation = QB__ICD,
                                   .problem = &size,
                                   .slices = d->slices,
                                   .interp = QB_INTERP_LINEAR,
                                   .accuracy = QB_ACCURACY_HIGH};
    double angles[MANY];
    qb__choice choice;
    for (size_t v = 0; v < d->views; v++) {
        angles[v] = pi * (double)v / (double)d->views;
        d->theta[v] = pi / (double)d->views;
    }
    QB__OR_RETURN(qb__choose(&question, &choice));
    d->kernel = choice.variant->id;
    QB__OR_RETURN(qb_geometry_parallel(d->views, angles, d->slices, SIDE, 1, (SIDE - 1) / 2.0, &d->geometry));
    QB__OR_RETURN(
        qb__system_matrix_create(&d->geometry, &grid, 1, (const qb__icd_variant *)choice.variant, &d->matrix));
    QB__OR_RETURN(qb__filter_create("hann", QB_PAD_EDGE, SIDE, 1, &d->filter));
    QB__OR_RETURN(qb__alloc(d->views * d->slices * SIDE, sizeof *d->lines, &d->lines));
    for (size_t i = 0; i < d->views * d->slices * SIDE; i++) d->lines[i] = (float)(1 + little * sin((double)i));
    d->settings = (qb__icd_settings){
        .prior = {.p = 1.2, .q = 2, .t = 1, .sigma = little / SIDE, .nearest = 1 / 6.828, .diagonal = 0.7071 / 6.828},
        .sigma_y = little,
        .radius = RADIUS,
        .equits = TURNS};
    return QB_OK;
}

static void unmake(descending *d) {
    qb__free(d->lines);
    qb__filter_destroy(d->filter);
    qb__system_matrix_destroy(&d->matrix);
    qb_geometry_destroy(&d->geometry);
}

static bool turned(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace) {
    descending *d = self;
    (void)stack;
    const double now = qb__now_process();
    const bool usual =
        !d->settings.supervoxels || d->equits > 0; /* the first sweep visits all voxels, later ones select */
    if (usual) d->turn_cpu = fmin(d->turn_cpu, (now - d->since) / (trace->equits - d->equits));
    d->since = now;
    d->equits = trace->equits;
    return false;
}

static qb_status descend(descending *d, qb_mbir_matrix kind) {
    qb__icd_trace trace[10 * PARTS + 16];
    const qb__icd_watch watch = {.turn = turned, .self = d};
    qb__icd_stack *stack;
    const char *stopped;
    int turns;
    double from = qb__now_process();
    qb_status status = qb__icd_stack_create(&d->matrix, kind, &d->settings, d->slices, d->pool, &stack);
    d->matrix_cpu = qb__now_process() - from;
    from = qb__now_process();
    const qb__icd_given given = {.lines = d->lines, .filter = d->filter, .theta = d->theta};
    if (status == QB_OK) status = qb__icd_stack_start(stack, &given);
    d->since = qb__now_process();
    d->start_cpu = d->since - from;
    d->turn_cpu = INFINITY;
    d->equits = 0;
    if (status == QB_OK) status = qb__icd_stack_run(stack, d->env, &watch, trace, &turns, &stopped);
    qb__icd_stack_destroy(stack);
    return status;
}

/* One after another: each allocates and releases what it needs. */
static qb_status run(descending *d, size_t views, qb_mbir_matrix kind, qb__icd_weighting weighting, double *entries) {
    d->views = views;
    const bool single = d->slices == 1;
    qb_status status = make(d);
    d->settings.weighting = weighting;
    d->settings.supervoxels = single;
    if (single) d->settings.equits = PARTS;
    if (status == QB_OK) status = descend(d, kind);
    *entries = (double)(views * (single ? qb__round_up(d->matrix.footprints.taps, 4) : d->matrix.footprints.taps)) *
               (double)qb__icd_pixels(SIDE, SIDE, RADIUS);
    unmake(d);
    d->matrix = (qb__system_matrix){0};
    d->geometry = (qb_geometry){0};
    d->filter = NULL;
    d->lines = NULL;
    return status;
}

/* One slice by SuperVoxels, measured like groups. */
static qb_status measure_single(descending *d, cJSON *rates) {
    double few, many;
    d->slices = 1;
    QB__OR_RETURN(run(d, FEW, QB_MATRIX_FLY, QB__WEIGH_TRANSMISSION, &few));
    const double brief = d->turn_cpu;
    QB__OR_RETURN(run(d, MANY, QB_MATRIX_FLY, QB__WEIGH_TRANSMISSION, &many));
    const double priors = fmax(brief - few * (d->turn_cpu - brief) / (many - few), 0.01 * d->turn_cpu);
    qb__machine_know(rates, QB__RATE_ICD_SINGLE_PRIOR, (double)qb__icd_pixels(SIDE, SIDE, RADIUS), priors);
    qb__machine_know(rates, QB__RATE_ICD_SINGLE, many, d->turn_cpu - priors);
    return QB_OK;
}

/* The time of a sweep is t = entries * a + b, with b for the priors: measured with many views and with few. */
static qb_status measure(descending *d, cJSON *rates) {
    static const struct {
        qb_mbir_matrix kind;
        const char *rate;
    } kinds[] = {{QB_MATRIX_FLY, QB__RATE_ICD_FLY},
                 {QB_MATRIX_BYTES, QB__RATE_ICD_BYTES},
                 {QB_MATRIX_FLOATS, QB__RATE_ICD_FLOATS}};
    const double groups = (double)(d->slices / QB__ICD_LANES), voxels = (double)qb__icd_pixels(SIDE, SIDE, RADIUS);
    double few, many, fly = 0, priors = 0;
    QB__OR_RETURN(run(d, FEW, QB_MATRIX_FLY, QB__WEIGH_NONE, &few));
    const double short_turn = d->turn_cpu / groups;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        QB__OR_RETURN(run(d, MANY, kinds[i].kind, QB__WEIGH_NONE, &many));
        const double turn = d->turn_cpu / groups;
        if (kinds[i].kind == QB_MATRIX_FLY) {
            fly = turn;
            priors = fmax(short_turn - few * (turn - short_turn) / (many - few), 0);
            qb__machine_know(rates, QB__RATE_ICD_PRIOR, voxels, priors);
            qb__machine_know(rates, d->kernel, many * QB__ICD_LANES, fly - priors);
            qb__machine_know(rates, QB__RATE_ICD_START, many * QB__ICD_LANES, d->start_cpu / groups);
        }
        if (kinds[i].kind == QB_MATRIX_BYTES) qb__machine_know(rates, QB__RATE_ICD_MATRIX, many, d->matrix_cpu);
        qb__machine_know(rates, kinds[i].rate, many * QB__ICD_LANES, turn - priors);
    }
    QB__OR_RETURN(run(d, MANY, QB_MATRIX_FLY, QB__WEIGH_TRANSMISSION, &many));
    qb__machine_know(rates, QB__RATE_ICD_WEIGHTS, many * QB__ICD_LANES, fmax(d->turn_cpu / groups - fly, 0.01 * fly));
    return QB_OK;
}

qb_status qb__machine_icd(cJSON *rates, const qb_env *env) {
    descending d = {.env = env};
    QB__OR_RETURN(qb__pool_create(env ? env->threads : 0, &d.pool));
    d.slices = (size_t)(QB__ICD_LANES * qb__pool_threads(d.pool));
    qb_status status = measure(&d, rates);
    for (int i = 0; i < TIMES && status == QB_OK; i++)
        status = measure_single(&d, rates); /* it is short, so the fastest run counts */
    qb__pool_destroy(d.pool);
    return status;
}
