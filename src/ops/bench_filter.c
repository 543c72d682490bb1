/* SPDX-License-Identifier: MIT */
/* qb bench filter: filtering rows, the transforms that it contains alone, and preparation alone, each
 * in turn so that a drifting clock meets all three. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/bench.h"
#include "ops/fft.h"
#include "ops/filter.h"
#include "prep/prep.h"

enum { ROWS = 64 }; /* a task: 64 rows of one view, as the pipeline has them */

typedef struct bench {
    qb__filter *filter;
    qb__fft *fft;
    qb__prep prep;
    size_t columns, length;
    float *rows;    /* [thread][ROWS][columns] */
    float *buffers; /* [thread][2][length + 32] */
    char *scratch;  /* [thread] */
    unsigned short *raw;
    float *dark, *gain;
} bench;

static void run_filter(void *context, size_t task, int worker) {
    (void)task;
    bench *b = context;
    qb__filter_rows(b->filter, b->rows + (size_t)worker * ROWS * b->columns, ROWS, b->columns, 1.0f,
                    b->scratch + (size_t)worker * qb__filter_scratch(b->filter));
}

static size_t buffer_floats(const bench *b) { return (b->length + 2 + 15) / 16 * 16; }

static void run_transforms(void *context, size_t task, int worker) {
    (void)task;
    bench *b = context;
    float *real = b->buffers + (size_t)worker * 2 * buffer_floats(b);
    memset(real, 0, b->length * sizeof *real); /* repeated unnormalised transforms would overflow */
    real[1] = 1;
    for (int r = 0; r < ROWS; r++) {
        qb__fft_forward(b->fft, real, real + buffer_floats(b));
        qb__fft_back(b->fft, real + buffer_floats(b), real);
        if (r % 4 == 3) {
            memset(real, 0, b->length * sizeof *real);
            real[1] = 1;
        }
    }
}

static void run_prep(void *context, size_t task, int worker) {
    (void)task;
    bench *b = context;
    qb__prep_counts counts = {0};
    for (size_t r = 0; r < ROWS; r++)
        qb__prep_row(&b->prep, 0, 0, b->raw, b->rows + ((size_t)worker * ROWS + r) * b->columns, &counts);
}

static qb_status allocate(bench *b, size_t threads) {
    qb_status status;
    QB__TRY(qb__alloc(threads * ROWS * b->columns, sizeof(float), &b->rows));
    QB__TRY(qb__alloc(threads * 2, buffer_floats(b) * sizeof(float), &b->buffers));
    QB__TRY(qb__alloc(threads, qb__filter_scratch(b->filter), &b->scratch));
    QB__TRY(qb__alloc(b->columns, sizeof *b->raw, &b->raw));
    QB__TRY(qb__alloc(b->columns, sizeof(float), &b->dark));
    QB__TRY(qb__alloc(b->columns, sizeof(float), &b->gain));
    for (size_t i = 0; i < b->columns; i++) {
        b->raw[i] = (unsigned short)(20000 + i * 7919 % 20000);
        b->dark[i] = 100;
        b->gain[i] = 1.0f / 50000;
    }
    b->prep = (qb__prep){.quantity = QB_COUNTS, .dtype = QB_U16, .columns = b->columns,
                         .dark = b->dark, .gain = b->gain, .floor = 1e-6f};
out:
    return status;
}

qb_status qb__bench_filter(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {.columns = (size_t)options->size.value[0]};
    void (*const runs[])(void *, size_t, int) = {run_filter, run_transforms, run_prep};
    double seconds[3][64];
    int repeat = options->repeat > 64 ? 64 : options->repeat;
    size_t tasks = (size_t)options->views;
    qb__pool *pool = NULL;
    qb_status status;
    QB__TRY(qb__pool_create(env ? env->threads : 0, &pool));
    QB__TRY(qb__filter_create("hann", QB_PAD_EDGE, b.columns, 1, &b.filter));
    b.length = qb__filter_length(b.filter);
    QB__TRY(qb__fft_create(b.length, &b.fft));
    QB__TRY(allocate(&b, (size_t)qb__pool_threads(pool)));
    for (int i = -1; i < repeat; i++) { /* the first round warms up */
        QB__TRY(qb__check_cancel(env));
        for (int k = 2; k >= 0; k--) { /* preparation first: it fills the rows */
            double from = qb__bench_now();
            qb__pool_for(pool, tasks, runs[k], &b);
            if (i >= 0) seconds[k][i] = qb__bench_now() - from;
        }
    }
    double filter = qb__median(seconds[0], (size_t)repeat);
    double bare = qb__median(seconds[1], (size_t)repeat);
    double rows = (double)tasks * ROWS;
    cJSON_AddStringToObject(result, "kernel", "filter.fftw");
    cJSON_AddNumberToObject(result, "columns", (double)b.columns);
    cJSON_AddNumberToObject(result, "fft_length", (double)b.length);
    cJSON_AddNumberToObject(result, "threads", qb__pool_threads(pool));
    cJSON_AddNumberToObject(result, "seconds_median", filter);
    cJSON_AddNumberToObject(result, "rows_per_second", rows / filter);
    cJSON_AddNumberToObject(result, "giga_samples_per_second", rows * (double)b.columns / filter * 1e-9);
    cJSON_AddNumberToObject(result, "bare_transforms_seconds_median", bare);
    cJSON_AddNumberToObject(result, "share_of_bare_transforms", bare / filter);
    cJSON_AddNumberToObject(result, "prep_seconds_median", qb__median(seconds[2], (size_t)repeat));
out:
    qb__pool_destroy(pool);
    qb__filter_destroy(b.filter);
    qb__fft_destroy(b.fft);
    qb__free(b.rows);
    qb__free(b.buffers);
    qb__free(b.scratch);
    qb__free(b.raw);
    qb__free(b.dark);
    qb__free(b.gain);
    return status;
}
