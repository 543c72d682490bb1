/* SPDX-License-Identifier: MIT */
/* The problem of qb bench mbir: noisy line integrals of phantoms, the matrix, and the observation of a descent. */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/bench_mbir.h"
#include "geometry/parallel.h"
#include "planner/choose.h"

static const double water = 0.02, photons = 50000, snr_db = 35;

/* ---- line integrals ---- */

static double normal(qb__random *random) {
    const double u = qb__random_unit(random);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * qb__random_unit(random));
}

/* A view of all slices, with the noise of this number of photons after the logarithm. */
static void project_view(void *context, size_t view, int worker) {
    const qb__mbir_bench *b = context;
    const size_t slices = b->grid.n[2], columns = b->geometry.columns;
    qb__random random = qb__random_stream(b->noise, view);
    for (size_t s = 0; s < slices; s++) {
        const qb__phantom *phantom = &b->phantom[b->phantoms > 1 ? s : 0];
        qb__phantom_project(phantom, &b->geometry, view, s, s + 1, b->row[worker], b->scratch[worker]);
        for (size_t c = 0; c < columns; c++) {
            const double y = b->row[worker][c];
            b->lines[(view * slices + s) * columns + c] = (float)(y + normal(&random) * sqrt(exp(y) / photons));
        }
    }
}

static void drop_scratch(qb__mbir_bench *b) {
    for (int i = 0; b->scratch && b->row && i < qb__pool_threads(b->pool); i++) QB__FREE(b->scratch[i], b->row[i]);
    QB__FREE(b->scratch, b->row);
    b->scratch = NULL;
    b->row = NULL;
}

static qb_status project(qb__mbir_bench *b) {
    const size_t threads = (size_t)qb__pool_threads(b->pool), columns = b->geometry.columns;
    size_t room = 0;
    qb_status status;
    for (size_t i = 0; i < b->phantoms; i++) {
        const size_t bytes = qb__phantom_scratch(&b->phantom[i], columns);
        if (room < bytes) room = bytes;
    }
    QB__TRY(qb__alloc(threads, sizeof *b->scratch, &b->scratch));
    QB__TRY(qb__alloc(threads, sizeof *b->row, &b->row));
    for (size_t i = 0; i < threads; i++) {
        QB__TRY(qb__alloc(room, 1, &b->scratch[i]));
        QB__TRY(qb__alloc(columns, sizeof(double), &b->row[i]));
    }
    qb__pool_for(b->pool, b->geometry.views, project_view, b);
out:
    drop_scratch(b);
    return status;
}

static qb_status sigmas(qb__mbir_bench *b) {
    const size_t count = b->geometry.views * b->grid.n[2] * b->geometry.columns;
    float *weights;
    QB__OR_RETURN(qb__alloc(count, sizeof *weights, &weights));
    for (size_t i = 0; i < count; i++) weights[i] = qb__icd_weigh(b->settings.weighting, b->lines[i]);
    const qb__mbir_sigmas s =
        qb__mbir_sigmas_of(b->lines, weights, count, (double)b->geometry.columns, b->grid.voxel[0], 0, snr_db);
    b->settings.prior.sigma = s.x;
    b->settings.sigma_y = s.y;
    qb__free(weights);
    return QB_OK;
}

qb_status qb__mbir_bench_project(qb__mbir_bench *b, size_t slices) {
    b->grid.n[2] = slices;
    b->settings.supervoxels = !b->set.count && qb__icd_stack_slicewise(&b->settings, slices);
    const qb_status status = project(b);
    return status == QB_OK ? sigmas(b) : status;
}

/* ---- the problem ---- */

/* The columns of the matrix are always made by the CPU's kernel. */
static qb_status choose(qb__mbir_bench *b, const qb__question *asked, qb__choice *cpu) {
    qb__question question = *asked;
    if (b->set.count) {
        question.device = qb__device_info_of(b->set.device[0]);
        QB__OR_RETURN(qb__choose(&question, &b->choice));
        question.device = NULL;
        question.id = NULL;
    }
    return qb__choose(&question, cpu);
}

static qb_status make_arrays(qb__mbir_bench *b, size_t views, double *angles) {
    const size_t pixels = b->grid.n[0] * b->grid.n[1], slices = b->grid.n[2], columns = b->geometry.columns;
    QB__OR_RETURN(qb__alloc(views, sizeof *b->theta, &b->theta));
    QB__OR_RETURN(qb__angle_weights(views, angles, b->theta, NULL));
    QB__OR_RETURN(qb__filter_create("hann", QB_PAD_EDGE, columns, 1, &b->filter));
    if (b->set.count) /* as qb mbir has them */
        QB__OR_RETURN(qb__host_create(b->set.device[0], views * slices * columns * sizeof(float), (void **)&b->lines));
    else
        QB__OR_RETURN(qb__alloc(views * slices * columns, sizeof(float), &b->lines));
    QB__OR_RETURN(qb__alloc(slices * pixels, sizeof *b->golden, &b->golden));
    QB__OR_RETURN(qb__alloc(slices, sizeof *b->apart, &b->apart));
    return qb__alloc(slices, sizeof *b->reached, &b->reached);
}

qb_status qb__mbir_bench_make(const qb_tool_bench_options *o, const qb_env *env, double width, qb__mbir_bench *b) {
    const size_t nx = (size_t)o->size.value[0], ny = o->size.count > 1 ? (size_t)o->size.value[1] : nx;
    const size_t slices = o->size.count > 2 ? (size_t)o->size.value[2] : 1, views = (size_t)o->views;
    const size_t columns = o->detector.count ? (size_t)o->detector.value[0] : nx;
    const double voxel = (double)columns / (double)nx;
    const qb__icd_size size = {.views = views, .columns = columns, .pixels = nx * ny, .taps = 4};
    const qb__question question = {.operation = QB__ICD,
                                   .problem = &size,
                                   .slices = slices,
                                   .interp = QB_INTERP_LINEAR,
                                   .accuracy = QB_ACCURACY_HIGH,
                                   .id = o->kernel};
    qb__choice choice;
    double *angles = NULL;
    qb_status status;
    b->grid = (qb_grid){{nx, ny, slices}, {voxel, voxel, 1}, {0, 0, 0}};
    b->water = water * width / (double)columns;
    b->noise = 5;
    QB__TRY(qb__device_set_open(env, &b->set));
    QB__TRY(choose(b, &question, &choice));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &b->pool));
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    for (size_t v = 0; v < views; v++) angles[v] = M_PI * (double)v / (double)views;
    QB__TRY(qb_geometry_parallel(views, angles, slices, columns, 1, ((double)columns - 1) / 2, &b->geometry));
    QB__TRY(make_arrays(b, views, angles));
    QB__TRY(qb__system_matrix_create(&b->geometry, &b->grid, 1, (const qb__icd_variant *)choice.variant, &b->matrix));
    b->settings =
        (qb__icd_settings){.prior = {.p = 1.2, .q = 2, .t = 1, .nearest = 1 / 6.828, .diagonal = 0.7071 / 6.828},
                           .weighting = QB__WEIGH_TRANSMISSION,
                           .positive = true,
                           .skip = true,
                           .seed = 1,
                           .radius = (double)nx / 2,
                           .equits = QB__MBIR_GOLDEN};
out:
    qb__free(angles);
    return status;
}

void qb__mbir_bench_release(qb__mbir_bench *b) {
    if (b->set.count)
        qb__host_destroy(b->set.device[0], b->lines);
    else
        qb__free(b->lines);
    QB__FREE(b->golden, b->apart, b->reached, b->theta);
    qb__filter_destroy(b->filter);
    qb__system_matrix_destroy(&b->matrix);
    for (size_t i = 0; i < b->phantoms; i++) qb__phantom_destroy(&b->phantom[i]);
    qb__free(b->phantom);
    qb_geometry_destroy(&b->geometry);
    qb__pool_destroy(b->pool);
    qb__device_set_close(&b->set);
}

/* ---- observation ---- */

/* NAN if there is no image. */
static double distance(const qb__mbir_bench *b, const qb__icd_stack *stack, size_t slice, float *image) {
    const size_t pixels = b->grid.n[0] * b->grid.n[1];
    double square = 0;
    if (qb__icd_stack_image(stack, slice, 1, image) != QB_OK) return NAN;
    for (size_t i = 0; i < pixels; i++) {
        const double d = (double)image[i] - (double)b->golden[slice * pixels + i];
        square += d * d;
    }
    return 1000 / b->water * sqrt(square / (double)pixels);
}

typedef struct watching {
    qb__mbir_bench *b;
    float *image;
} watching;

/* True if all slices are close enough: slices of one phantom by their common error, of several by their own. */
static bool judge(qb__mbir_bench *b, double equits) {
    const size_t slices = b->grid.n[2];
    double square = 0;
    bool each = true;
    for (size_t s = 0; s < slices; s++) {
        const bool there = b->apart[s] < qb__mbir_close_enough;
        square += b->apart[s] * b->apart[s];
        each = each && there;
        if (!there)
            b->reached[s] = NAN;
        else if (isnan(b->reached[s]))
            b->reached[s] = equits;
    }
    b->rmse = sqrt(square / (double)slices);
    return b->phantoms > 1 ? each : b->rmse < qb__mbir_close_enough;
}

/* The clock stops while images are compared. */
static bool watch(void *context, const qb__icd_stack *stack, const qb__icd_trace *trace) {
    const watching *w = context;
    qb__mbir_bench *b = w->b;
    const double now = qb__now();
    b->seconds = now - b->begun - b->watched;
    b->equits = trace->equits;
    for (size_t s = 0; s < b->grid.n[2]; s++) b->apart[s] = distance(b, stack, s, w->image);
    const bool enough = judge(b, trace->equits);
    b->watched += qb__now() - now;
    return enough;
}

qb_status qb__mbir_bench_descend(qb__mbir_bench *b, bool golden, const qb_env *env) {
    qb__icd_stack *stack = NULL;
    qb__icd_trace *trace = NULL;
    const size_t slices = b->grid.n[2], pixels = b->grid.n[0] * b->grid.n[1];
    watching w = {b, NULL};
    const char *stopped;
    int turns;
    qb_status status;
    for (size_t s = 0; s < slices; s++) b->reached[s] = NAN;
    QB__TRY(qb__alloc((size_t)qb__icd_sweeps(b->settings.equits), sizeof *trace, &trace));
    QB__TRY(qb__alloc(pixels, sizeof *w.image, &w.image));
    QB__TRY(b->set.count
                ? qb__icd_stack_create_on(b->set.device[0], qb__icd_device_of(b->choice.variant), b->choice.values,
                                          &b->matrix, &b->settings, slices, slices, b->pool, &stack)
                : qb__icd_stack_create(&b->matrix, QB_MATRIX_FLY, &b->settings, slices, b->pool, &stack));
    const double begun = qb__now();
    QB__TRY(qb__icd_stack_start(stack, &(qb__icd_given){.lines = b->lines, .filter = b->filter, .theta = b->theta}));
    b->start = qb__now() - begun;
    b->begun = qb__now();
    b->watched = 0;
    const qb__icd_watch see = {.turn = watch, .self = &w};
    QB__TRY(qb__icd_stack_run(stack, env, golden ? NULL : &see, trace, &turns, &stopped));
    for (size_t s = 0; golden && s < slices; s++) QB__TRY(qb__icd_stack_image(stack, s, 1, b->golden + s * pixels));
out:
    qb__icd_stack_destroy(stack);
    QB__FREE(trace, w.image);
    return status;
}

void qb__mbir_bench_add_device(const qb__mbir_bench *b, cJSON *result) {
    const qb__device_info *info = qb__device_info_of(b->set.device[0]);
    cJSON_AddStringToObject(result, "device", info->name);
    cJSON_AddItemToObject(result, "kernel_parameters", qb__parameters_json(b->choice.variant, b->choice.values));
}

qb_status qb__mbir_bench_foam(const qb_tool_bench_options *options, const qb_env *env, qb__mbir_bench *b) {
    QB__OR_RETURN(qb__mbir_bench_make(options, env, 256, b));
    QB__OR_RETURN(qb__alloc(1, sizeof *b->phantom, &b->phantom));
    b->phantoms = 1;
    QB__OR_RETURN(qb__phantom_create("foam", &b->grid, b->water, 1, b->phantom));
    return qb__mbir_bench_project(b, b->grid.n[2]);
}
