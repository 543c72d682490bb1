/* SPDX-License-Identifier: MIT */
/* qb bench mbir: noisy slices of a phantom, from filtered back-projection to within 10 Hounsfield units
 * of where 40 equits lead: the convergence of Wang et al. (PPoPP 2017) and of the reference code. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "cpu/features.h"
#include "geometry/parallel.h"
#include "geometry/phantom.h"
#include "planner/choose.h"
#include "ops/matrix_cache.h"
#include "planner/device_select.h"
#include "recon/mbir/icd_bands.h"
#include "recon/mbir/mbir.h"

enum { GOLDEN = 40 };
static const double water = 0.02, close_enough = 10, photons = 50000, snr_db = 35;
/* Of one core of the same kind of machine, for this problem at its own size: seconds of the reference
 * code's matrix, of a slice to 10 HU, of an equit. */
static const double reference_matrix = 1030, reference_slice = 5.1, reference_equit = 0.75;

typedef struct bench {
    qb__device_set set; /* empty: the CPU descends */
    qb__choice choice;  /* of the device's kernel */
    qb_geometry geometry;
    qb_grid grid;
    qb__phantom phantom;
    qb__system_matrix matrix;
    qb__icd_settings settings;
    qb__pool *pool;
    qb__filter *filter;
    double *theta;
    float *lines;  /* [view][slice][column] */
    char **scratch;
    double **row;  /* [thread][columns] */
    float *golden; /* [slice][y][x] */
    /* of a timed run */
    double begun, watched, seconds, equits, rmse;
} bench;

static double normal(qb__random *random) {
    const double u = qb__random_unit(random);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * qb__random_unit(random));
}

/* A view of all slices, with the noise that so many photons leave after the logarithm. */
static void project_view(void *context, size_t view, int worker) {
    const bench *b = context;
    const size_t slices = b->grid.n[2], columns = b->geometry.columns;
    qb__random random = qb__random_stream(5, view);
    for (size_t s = 0; s < slices; s++) {
        qb__phantom_project(&b->phantom, &b->geometry, view, s, s + 1, b->row[worker], b->scratch[worker]);
        for (size_t c = 0; c < columns; c++) {
            const double y = b->row[worker][c];
            b->lines[(view * slices + s) * columns + c] =
                (float)(y + normal(&random) * sqrt(exp(y) / photons));
        }
    }
}

static qb_status project(bench *b) {
    const size_t threads = (size_t)qb__pool_threads(b->pool), columns = b->geometry.columns;
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *b->scratch, &b->scratch));
    QB__TRY(qb__alloc(threads, sizeof *b->row, &b->row));
    for (size_t i = 0; i < threads; i++) {
        QB__TRY(qb__alloc(qb__phantom_scratch(&b->phantom, columns), 1, &b->scratch[i]));
        QB__TRY(qb__alloc(columns, sizeof(double), &b->row[i]));
    }
    QB__TRY(qb__alloc(b->geometry.views * b->grid.n[2] * columns, sizeof(float), &b->lines));
    qb__pool_for(b->pool, b->geometry.views, project_view, b);
out:
    return status;
}

/* The CPU's kernel makes the matrix's columns in any case. */
static qb_status choose(bench *b, const qb__question *asked, qb__choice *cpu) {
    qb__question question = *asked;
    if (b->set.count) {
        question.device = qb__device_info_of(b->set.device[0]);
        qb_status status = qb__choose(&question, &b->choice);
        if (status != QB_OK) return status;
        question.device = NULL;
        question.id = NULL;
    }
    return qb__choose(&question, cpu);
}

static qb_status make(const qb_bench_options *o, const qb_env *env, bench *b) {
    const size_t nx = (size_t)o->size.value[0], ny = o->size.count > 1 ? (size_t)o->size.value[1] : nx;
    const size_t slices = o->size.count > 2 ? (size_t)o->size.value[2] : 1, views = (size_t)o->views;
    const size_t columns = o->detector.count ? (size_t)o->detector.value[0] : nx;
    const double voxel = (double)columns / (double)nx;
    const qb__icd_size size = {views, columns, nx * ny, 4, false, false, false};
    const qb__question question = {.operation = QB__ICD, .problem = &size, .slices = slices,
                                   .interp = QB_INTERP_LINEAR, .accuracy = QB_ACCURACY_HIGH, .id = o->kernel};
    qb__choice choice;
    double *angles = NULL;
    qb_status status;
    b->grid = (qb_grid){{nx, ny, slices}, {voxel, voxel, 1}, {0, 0, 0}};
    QB__TRY(choose(b, &question, &choice));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &b->pool));
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(views, sizeof *b->theta, &b->theta));
    for (size_t v = 0; v < views; v++) angles[v] = M_PI * (double)v / (double)views;
    QB__TRY(qb_geometry_parallel(views, angles, slices, columns, 1, ((double)columns - 1) / 2, &b->geometry));
    QB__TRY(qb__angle_weights(views, angles, b->theta, NULL));
    QB__TRY(qb__filter_create("hann", QB_PAD_EDGE, columns, 1, &b->filter));
    /* A bag of water with hundreds of holes, 25 cm wide. */
    QB__TRY(qb__phantom_create("foam", &b->grid, water * 256 / (double)columns, 1, &b->phantom));
    QB__TRY(qb__system_matrix_create(&b->geometry, &b->grid, 1, (const qb__icd_variant *)choice.variant, &b->matrix));
    QB__TRY(project(b));
    b->settings = (qb__icd_settings){.prior = {.p = 1.2, .q = 2, .t = 1, .nearest = 1 / 6.828, .diagonal = 0.7071 / 6.828},
                                     .weighting = QB__WEIGH_TRANSMISSION,
                                     .positive = true, .skip = true, .seed = 1,
                                     .radius = (double)nx / 2, .equits = GOLDEN};
    b->settings.supervoxels = !b->set.count && qb__icd_stack_few(&b->settings, slices);
out:
    qb__free(angles);
    return status;
}

static qb_status sigmas(bench *b) {
    const size_t count = b->geometry.views * b->grid.n[2] * b->geometry.columns;
    float *weights;
    qb_status status = qb__alloc(count, sizeof *weights, &weights);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < count; i++) weights[i] = qb__icd_weigh(b->settings.weighting, b->lines[i]);
    const qb__mbir_sigmas s = qb__mbir_sigmas_of(b->lines, weights, count, (double)b->geometry.columns,
                                                 b->grid.voxel[0], 0, snr_db);
    b->settings.prior.sigma = s.x;
    b->settings.sigma_y = s.y;
    qb__free(weights);
    return QB_OK;
}

/* Seconds that all columns take, kept in 8 bits. */
static qb_status time_matrix(bench *b, double *seconds) {
    qb__system_matrix kept;
    uint32_t *pixels = NULL;
    const size_t nx = b->grid.n[0], ny = b->grid.n[1];
    size_t count = 0;
    qb_status status;
    QB__TRY(qb__system_matrix_create(&b->geometry, &b->grid, 1, b->matrix.variant, &kept));
    QB__TRY(qb__alloc(nx * ny, sizeof *pixels, &pixels));
    for (size_t i = 0; i < nx * ny; i++)
        pixels[count++] = (uint32_t)((i / nx + 1) * (nx + 2) + i % nx + 1);
    const double begun = qb__now();
    QB__TRY(qb__matrix_keep(&kept, QB_MATRIX_BYTES, pixels, count, b->pool));
    *seconds = qb__now() - begun;
out:
    qb__free(pixels);
    qb__system_matrix_destroy(&kept);
    return status;
}

/* NAN where an image cannot be had. */
static double distance(const bench *b, const qb__icd_stack *stack, float *image) {
    const size_t pixels = b->grid.n[0] * b->grid.n[1];
    double square = 0;
    for (size_t s = 0; s < b->grid.n[2]; s++) {
        if (qb__icd_stack_image(stack, s, 1, image) != QB_OK) return NAN;
        for (size_t i = 0; i < pixels; i++) {
            const double d = (double)image[i] - (double)b->golden[s * pixels + i];
            square += d * d;
        }
    }
    const double scale = 1000 / (water * 256 / (double)b->geometry.columns);
    return scale * sqrt(square / (double)(pixels * b->grid.n[2]));
}

typedef struct watching {
    bench *b;
    float *image;
} watching;

/* The clock stands while the image is compared. */
static bool watch(void *context, const qb__icd_stack *stack, const qb__icd_trace *trace) {
    const watching *w = context;
    bench *b = w->b;
    const double now = qb__now();
    b->seconds = now - b->begun - b->watched;
    b->rmse = distance(b, stack, w->image);
    b->equits = trace->equits;
    b->watched += qb__now() - now;
    return b->rmse < close_enough;
}

static qb_status descend(bench *b, bool golden, const qb_env *env, double *start_seconds) {
    qb__icd_stack *stack = NULL;
    qb__icd_trace *trace = NULL;
    const size_t slices = b->grid.n[2], pixels = b->grid.n[0] * b->grid.n[1];
    watching w = {b, NULL};
    const char *stopped;
    int turns;
    qb_status status;
    QB__TRY(qb__alloc((size_t)qb__icd_turns(b->settings.equits), sizeof *trace, &trace));
    QB__TRY(qb__alloc(pixels, sizeof *w.image, &w.image));
    QB__TRY(b->set.count
                ? qb__icd_stack_create_on(b->set.device[0], qb__icd_device_of(b->choice.variant), b->choice.values,
                                          &b->matrix, &b->settings, slices, slices, b->pool, &stack)
                : qb__icd_stack_create(&b->matrix, QB_MATRIX_FLY, &b->settings, slices, b->pool, &stack));
    const double begun = qb__now();
    QB__TRY(qb__icd_stack_start(stack, &(qb__icd_given){.lines = b->lines, .filter = b->filter, .theta = b->theta}));
    *start_seconds = qb__now() - begun;
    b->begun = qb__now();
    b->watched = 0;
    const qb__icd_watch see = {watch, &w};
    QB__TRY(qb__icd_stack_run(stack, env, golden ? NULL : &see, trace, &turns, &stopped));
    for (size_t s = 0; golden && s < slices; s++)
        QB__TRY(qb__icd_stack_image(stack, s, 1, b->golden + s * pixels));
out:
    qb__icd_stack_destroy(stack);
    qb__free(trace);
    qb__free(w.image);
    return status;
}

static void release(bench *b) {
    for (int i = 0; b->scratch && b->row && i < qb__pool_threads(b->pool); i++) {
        qb__free(b->scratch[i]);
        qb__free(b->row[i]);
    }
    qb__free(b->scratch);
    qb__free(b->row);
    qb__free(b->lines);
    qb__free(b->golden);
    qb__free(b->theta);
    qb__filter_destroy(b->filter);
    qb__system_matrix_destroy(&b->matrix);
    qb__phantom_destroy(&b->phantom);
    qb_geometry_destroy(&b->geometry);
    qb__pool_destroy(b->pool);
    qb__device_set_close(&b->set);
}

/* ---- what each parameter is worth ---- */

/* To the same image with other values of the kernel's parameters. */
static qb_status descend_with(bench *b, const int *values, const qb_env *env, cJSON *list) {
    qb__choice kept = b->choice;
    double start;
    memcpy(b->choice.values, values, sizeof b->choice.values);
    qb_status status = descend(b, false, env, &start);
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(list, one);
    cJSON_AddItemToObject(one, "kernel_parameters", qb__parameters_json(b->choice.variant, values));
    if (status == QB_OK) {
        cJSON_AddNumberToObject(one, "start_seconds", start);
        cJSON_AddNumberToObject(one, "seconds", b->seconds);
        cJSON_AddNumberToObject(one, "equits", b->equits);
        cJSON_AddNumberToObject(one, "equit_seconds_per_slice", b->seconds / b->equits / (double)b->grid.n[2]);
        cJSON_AddNumberToObject(one, "slices_per_second", (double)b->grid.n[2] / (start + b->seconds));
    } else {
        cJSON_AddStringToObject(one, "failed", qb_detail());
    }
    b->choice = kept;
    return status == QB_CANCELLED ? status : QB_OK;
}

static qb_status ablate(bench *b, const qb_env *env, cJSON *result) {
    const qb__variant *v = b->choice.variant;
    cJSON *list = cJSON_AddArrayToObject(result, "ablation");
    qb_status status = QB_OK;
    for (int i = 0; i < qb__parameter_count(v); i++)
        for (int n = 0; n < v->parameters[i].count && status == QB_OK; n++) {
            int values[QB__PARAMETERS_MAX];
            memcpy(values, b->choice.values, sizeof values);
            values[i] = v->parameters[i].values[n];
            if (values[i] != b->choice.values[i]) status = descend_with(b, values, env, list);
        }
    return status;
}

static void add_device(const bench *b, cJSON *result) {
    const qb__device_info *info = qb__device_info_of(b->set.device[0]);
    cJSON_AddStringToObject(result, "device", info->name);
    cJSON_AddItemToObject(result, "kernel_parameters", qb__parameters_json(b->choice.variant, b->choice.values));
    cJSON_AddNumberToObject(result, "equit_seconds_per_slice", b->seconds / b->equits / (double)b->grid.n[2]);
}

/* By core, and how often what the reference does. */
static void add_cores(const bench *b, const qb_bench_options *options, double all, double matrix, cJSON *result) {
    const size_t slices = b->grid.n[2];
    const int threads = qb__pool_threads(b->pool);
    const bool few = b->settings.supervoxels;
    const double parts = few ? (double)qb__icd_few_at_once(b->grid.n[0], b->grid.n[1]) : ceil((double)slices / QB__ICD_LANES);
    const double busy = fmin(threads, parts), each = (double)slices / busy;
    const bool usual = b->grid.n[0] == 512 && b->grid.n[1] == 512 && options->views == 720 && b->geometry.columns == 1024;
    cJSON_AddStringToObject(result, "threads_share", few ? "supervoxels" : "slices");
    cJSON_AddNumberToObject(result, "equit_seconds_per_slice_and_core", b->seconds / b->equits / each);
    cJSON_AddNumberToObject(result, "slices_per_second_and_core", each / all);
    cJSON_AddNumberToObject(result, "slices_per_second_and_core_of_iterations", each / b->seconds);
    cJSON_AddNumberToObject(result, "matrix_seconds", matrix);
    if (!usual) return;
    cJSON_AddNumberToObject(result, "matrix_times_reference", reference_matrix / (matrix * threads));
    cJSON_AddNumberToObject(result, "slices_times_reference", each / b->seconds * reference_slice);
    cJSON_AddNumberToObject(result, "equit_times_reference", reference_equit * b->equits / b->seconds * each);
}

qb_status qb__bench_mbir(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {0};
    double matrix = 0, start = 0;
    qb_status status;
    QB__TRY(qb__device_set_open(env, &b.set));
    QB__TRY(make(options, env, &b));
    QB__TRY(sigmas(&b));
    const size_t slices = b.grid.n[2], pixels = b.grid.n[0] * b.grid.n[1];
    const int threads = qb__pool_threads(b.pool);
    QB__TRY(qb__alloc(slices * pixels, sizeof *b.golden, &b.golden));
    if (!b.set.count) QB__TRY(time_matrix(&b, &matrix));
    qb__info(env, "%zu slices to %d equits, to compare with", slices, GOLDEN);
    QB__TRY(descend(&b, true, env, &start));
    QB__TRY(descend(&b, false, env, &start));
    const double all = start + b.seconds;
    cJSON_AddStringToObject(result, "kernel", b.set.count ? b.choice.variant->id : b.matrix.variant->head.id);
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
    cJSON_AddNumberToObject(result, "threads", threads);
    cJSON_AddNumberToObject(result, "slices", (double)slices);
    cJSON_AddNumberToObject(result, "equits", b.equits);
    cJSON_AddNumberToObject(result, "rmse_hu", b.rmse);
    cJSON_AddBoolToObject(result, "converged", b.rmse < close_enough);
    cJSON_AddNumberToObject(result, "start_seconds", start);
    cJSON_AddNumberToObject(result, "iteration_seconds", b.seconds);
    cJSON_AddNumberToObject(result, "slices_per_second", (double)slices / all);
    if (b.set.count)
        add_device(&b, result);
    else
        add_cores(&b, options, all, matrix, result);
    if (options->ablate && b.set.count) QB__TRY(ablate(&b, env, result));
    if (options->ablate && !b.set.count)
        status = qb__fail(QB_BAD_ARGUMENT, "--ablate changes the parameters of a device's kernel: give --device cuda or opencl");
out:
    release(&b);
    return status;
}
