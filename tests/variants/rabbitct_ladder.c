/* SPDX-License-Identifier: MIT */
/* rabbitct_ladder FILE DEVICE SIZE [REPEAT]: Table I of Papenhausen, Zheng and Mueller, "GPU-Accelerated
 * Back-Projection Revisited", on one device: runs each configuration once through the data set, and prints the gain of
 * each of their steps. As in the benchmark, the time is from an image in host memory to the volume in host memory, and
 * does not include reading images from the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/rabbitct_check.h"
#include "bench/rabbitct_engine.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "planner/device_select.h"
#include "planner/variants.h"

enum { GROUP = QB__RABBITCT_GROUP, REPEAT_MAX = 64, BEST = 0 };

/* A configuration: its name, its kernel, the views of a call and of a launch (BEST: the number that was fastest so
 * far), whether images and result are page-locked, and whether the result is downloaded after every call or once. */
typedef struct rung {
    const char *name, *kernel;
    int views;
    bool locked, each;
} rung;

#define PAPER "bp_cone_matrix.naive"
static const rung rungs[] = {
    {"naive, the result copied with every view", PAPER, 1, false, true},
    {"naive", PAPER, 1, false, false},
    {"texture memory", PAPER "-texture", 1, false, false},
    {"constant memory", PAPER "-constant", 1, false, false},
    {"voxels prefetched", PAPER "-views", 1, false, false},
    {"2 views a launch", PAPER "-views", 2, false, false},
    {"4 views a launch", PAPER "-views", 4, false, false},
    {"8 views a launch", PAPER "-views", 8, false, false},
    {"16 views a launch", PAPER "-views", 16, false, false},
    {"32 views a launch", PAPER "-views", 32, false, false},
    {"page-locked buffers", PAPER "-views", BEST, true, false},
    {"today's kernel, interpolated by textures", "bp_cone_matrix.texture", GROUP, true, false},
    {"today's kernel, in single precision", "bp_cone_matrix.alu", GROUP, true, false},
};
enum { RUNGS = sizeof rungs / sizeof *rungs };

typedef struct ladder {
    qb__rabbitct set;
    size_t size, voxels, pixels;
    qb__device *device;
    qb__bp_cone_problem problem;
    double (*matrix)[12];
    uint16_t *reference; /* NULL = there is none */
    qb__rabbitct_sample *samples;
    int best;                    /* views in a launch */
    double best_seconds, before; /* of the best configuration; of the last one that ran */
} ladder;

/* A running configuration. */
typedef struct attempt {
    const qb__bp_cone_device_variant *variant;
    int values[QB__PARAMETERS_MAX], views;
    bool locked, each;
    qb__bp_cone_plan *plan;
    qb__queue *queue;
    qb__memory *rows, *packed, *out;
    float *images, *volume; /* in host memory */
} attempt;

/* ---- the problem ---- */

static qb_status read_matrices(ladder *l) {
    const size_t views = l->set.views;
    float *image;
    qb_status status = qb__alloc(l->pixels, sizeof *image, &image);
    for (size_t v = 0; v < views && status == QB_OK; v++) {
        double world[12];
        status = qb__rabbitct_view(&l->set, v, world, image);
        if (status != QB_OK) break;
        qb__rabbitct_matrix(world, l->size, l->matrix[v]);
        qb__rabbitct_add_samples(&l->set, l->size, world, image, l->samples);
    }
    qb__free(image);
    return status;
}

static qb_status set_up(ladder *l, const char *file, double size) {
    const qb_numbers asked = {1, {size}};
    qb_status status = qb__rabbitct_check_size(&asked, &l->size);
    if (status != QB_OK) return status;
    l->voxels = l->size * l->size * l->size;
    QB__TRY(qb__rabbitct_open(file, &l->set));
    QB__TRY(qb__rabbitct_check_matrices(&l->set, l->size));
    l->pixels = l->set.columns * l->set.rows;
    QB__TRY(qb__alloc(l->set.views, sizeof *l->matrix, &l->matrix));
    QB__TRY(qb__alloc(QB__RABBITCT_SAMPLES, sizeof *l->samples, &l->samples));
    qb__rabbitct_draw_samples(l->size, l->samples);
    QB__TRY(read_matrices(l));
    QB__TRY(qb__rabbitct_load_reference(&l->set, l->size, NULL, &l->reference));
    l->problem = (qb__bp_cone_problem){.views = l->set.views,
                                       .columns = l->set.columns,
                                       .rows = l->set.rows,
                                       .nx = l->size,
                                       .ny = l->size,
                                       .nz = l->size,
                                       .matrix = (const double(*)[12])l->matrix};
out:
    return status;
}

/* ---- one configuration ---- */

static qb_status host_memory(const ladder *l, bool locked, size_t count, float **memory) {
    if (!locked) return qb__alloc(count, sizeof **memory, memory);
    void *host = NULL;
    const qb_status status = qb__host_create(l->device, count * sizeof **memory, &host);
    *memory = host;
    return status;
}

static void release_host(const ladder *l, bool locked, float *memory) {
    if (locked)
        qb__host_destroy(l->device, memory);
    else
        qb__free(memory);
}

static qb_status open_attempt(ladder *l, attempt *a) {
    const qb__bp_cone_most most = {(size_t)a->views, l->problem.rows};
    const size_t images = l->pixels * (size_t)a->views;
    qb_status status;
    QB__TRY(a->variant->plan(l->device, &l->problem, most, a->values, &a->plan));
    QB__TRY(qb__queue_create(l->device, &a->queue));
    QB__TRY(qb__memory_create(l->device, images * sizeof(float), &a->rows));
    QB__TRY(qb__memory_create(l->device, a->variant->packed_bytes(&l->problem, most, a->values), &a->packed));
    QB__TRY(qb__memory_create(l->device, l->voxels * sizeof(float), &a->out));
    QB__TRY(host_memory(l, a->locked, images, &a->images));
    QB__TRY(host_memory(l, a->locked, l->voxels, &a->volume));
out:
    return status;
}

static void close_attempt(const ladder *l, attempt *a) {
    qb__queue_destroy(a->queue);
    a->variant->destroy(a->plan);
    qb__memory_destroy(a->rows);
    qb__memory_destroy(a->packed);
    qb__memory_destroy(a->out);
    release_host(l, a->locked, a->images);
    release_host(l, a->locked, a->volume);
}

/* The part that the benchmark times, for some views: upload, back-projection, and download of the result if wanted. */
static qb_status add_views(const ladder *l, attempt *a, size_t first, size_t end, bool down) {
    const qb__bp_cone_window window = {0, l->problem.rows};
    qb_status status;
    QB__TRY(qb__memory_upload(a->queue, a->rows, 0, a->images, (end - first) * l->pixels * sizeof(float)));
    QB__TRY(
        a->variant->pack(a->plan, a->queue, a->rows, 0, l->pixels, l->problem.columns, first, end, window, a->packed));
    QB__TRY(a->variant->run(a->plan, a->queue, a->packed, first, end, window, 0, l->size, a->out, 0, first > 0));
    if (down) QB__TRY(qb__memory_download(a->queue, a->out, 0, a->volume, l->voxels * sizeof(float)));
out:
    return qb__queue_finish_after(a->queue, status);
}

/* Once through the data set. */
static qb_status run(const ladder *l, attempt *a, double *seconds) {
    memset(a->volume, 0, l->voxels * sizeof *a->volume);
    *seconds = 0;
    for (size_t v = 0; v < l->set.views; v += (size_t)a->views) {
        const size_t end = qb__smaller(v + (size_t)a->views, l->set.views);
        qb_status status = QB_OK;
        for (size_t i = v; i < end && status == QB_OK; i++) {
            double world[12];
            status = qb__rabbitct_view(&l->set, i, world, a->images + (i - v) * l->pixels);
        }
        if (status != QB_OK) return status;
        const double from = qb__now();
        status = add_views(l, a, v, end, a->each || end == l->set.views);
        *seconds += qb__now() - from;
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

static void describe(ladder *l, const attempt *a, double seconds, cJSON *row) {
    const qb__rabbitct_quality q = qb__rabbitct_measure(&l->set, l->size, a->volume, l->reference, l->samples);
    const double views = (double)l->set.views;
    cJSON_AddItemToObject(row, "parameters", qb__parameters_json(&a->variant->head, a->values));
    cJSON_AddNumberToObject(row, "views_per_launch", a->views);
    cJSON_AddNumberToObject(row, "seconds", seconds);
    cJSON_AddNumberToObject(row, "mean_ms", seconds / views * 1e3);
    cJSON_AddNumberToObject(row, "error_hu2", q.rmse * q.rmse);
    cJSON_AddNumberToObject(row, "rel_l2", q.rel_l2);
    if (l->before > 0) cJSON_AddNumberToObject(row, "speed_up", l->before / seconds);
    cJSON_AddNumberToObject(row, "gups", (double)l->voxels * views / seconds / 0x1p30);
    l->before = seconds;
}

static void set_views(attempt *a) {
    const qb__kernel_parameter *parameter = a->variant->head.parameters;
    for (int i = 0; i < qb__parameter_count(&a->variant->head); i++)
        if (strcmp(parameter[i].name, "VIEWS") == 0) a->values[i] = a->views;
}

static qb_status climb(ladder *l, const rung *r, int repeat, cJSON *list) {
    const qb__variant *head = qb__variant_named(r->kernel);
    attempt a = {.variant = head ? qb__bp_cone_on_device(head) : NULL,
                 .locked = r->locked,
                 .each = r->each,
                 .views = r->views == BEST ? l->best : r->views};
    double seconds[REPEAT_MAX];
    qb_status status = QB_OK;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list, row);
    cJSON_AddStringToObject(row, "configuration", r->name);
    if (!head) cJSON_AddStringToObject(row, "not_run", "this build has no kernels of papers");
    if (!head) return QB_OK;
    cJSON_AddStringToObject(row, "kernel", head->id);
    qb__parameter_combination(head, 0, a.values);
    set_views(&a);
    const char *why = head->unusable(qb__device_info_of(l->device), &l->problem, a.values);
    if (why) cJSON_AddStringToObject(row, "not_run", why);
    if (why) return QB_OK;
    QB__TRY(open_attempt(l, &a));
    for (int i = 0; i < repeat; i++) QB__TRY(run(l, &a, &seconds[i]));
    seconds[0] = qb__median(seconds, (size_t)repeat);
    describe(l, &a, seconds[0], row);
    if (!r->locked && (l->best == 0 || seconds[0] < l->best_seconds)) l->best = a.views, l->best_seconds = seconds[0];
out:
    close_attempt(l, &a);
    return status;
}

static qb_status climb_all(ladder *l, int repeat, cJSON *result) {
    cJSON *list = cJSON_AddArrayToObject(result, "configurations");
    qb_status status = QB_OK;
    for (int i = 0; i < RUNGS && status == QB_OK; i++) { status = climb(l, &rungs[i], repeat, list); }
    cJSON_AddNumberToObject(result, "best_views_per_launch", l->best);
    return status;
}

static qb_status measure(ladder *l, const char *file, const char *size, int repeat, cJSON *result) {
    qb_status status;
    QB__TRY(set_up(l, file, atof(size)));
    cJSON_AddStringToObject(result, "device", qb__device_info_of(l->device)->name);
    cJSON_AddNumberToObject(result, "size", (double)l->size);
    cJSON_AddNumberToObject(result, "views", (double)l->set.views);
    cJSON_AddBoolToObject(result, "reference_present", l->reference != NULL);
    QB__TRY(climb_all(l, repeat, result));
out:
    qb__rabbitct_close(&l->set);
    qb__free(l->matrix);
    qb__free(l->samples);
    qb__free(l->reference);
    return status;
}

int main(int argc, char **argv) {
    ladder l = {.set.fd = -1};
    const int repeat = argc > 4 ? atoi(argv[4]) : 5;
    if (argc < 4 || repeat < 1 || repeat > REPEAT_MAX) {
        fprintf(stderr, "rabbitct_ladder FILE DEVICE SIZE [REPEAT]\n");
        return 2;
    }
    cJSON *result = cJSON_CreateObject();
    qb_status status = qb__device_open(argv[2], &l.device);
    if (!status) status = measure(&l, argv[1], argv[3], repeat, result);
    if (status) fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
    char *text = status ? NULL : cJSON_Print(result);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(result);
    qb__device_close(l.device);
    return status != QB_OK;
}
