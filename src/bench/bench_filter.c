/* SPDX-License-Identifier: MIT */
/* qb bench filter: filtering of rows; the transforms in it, by each available library; preparation of rows. They are
 * measured in turn, so that a varying clock affects all. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "ops/fft.h"
#include "ops/filter.h"
#include "prep/prep.h"

/* A task filters 64 rows of one view, as in the pipeline. Values that are filtered repeatedly become denormal and slow:
 * every eighth task starts from fresh ones. */
enum { ROWS = 64, REFRESH = 8, REPEAT_MAX = 64, LIBRARIES_MOST = 4 };

typedef struct bench {
    qb__filter *filter;
    qb__fft *ffts[LIBRARIES_MOST], *fft; /* one transform for each library; the one being measured */
    int libraries;
    qb__prep prep;
    size_t columns, length;
    float *fresh;        /* [ROWS][columns] */
    float *rows;         /* [thread][ROWS][columns] */
    float *lines;        /* [thread][columns] */
    char *scratch;       /* [thread] */
    unsigned short *raw; /* [ROWS][columns] */
    float *dark, *gain;  /* [columns] */
} bench;

typedef struct timing {
    double filter, prep, transforms[LIBRARIES_MOST]; /* seconds, medians */
} timing;

static float *thread_scratch(const bench *b, int worker) {
    return (float *)(b->scratch + (size_t)worker * qb__filter_scratch(b->filter));
}

static void run_filter(void *context, size_t task, int worker) {
    bench *b = context;
    float *rows = b->rows + (size_t)worker * ROWS * b->columns;
    if (task % REFRESH == 0) memcpy(rows, b->fresh, ROWS * b->columns * sizeof *rows);
    qb__filter_rows(b->filter, rows, ROWS, b->columns, 1.5f, thread_scratch(b, worker));
}

static void run_transforms(void *context, size_t task, int worker) {
    (void)task;
    bench *b = context;
    float *one = thread_scratch(b, worker), *two = one + (b->length + 15) / 16 * 16;
    for (int r = 0; r < ROWS; r++) {
        if (r % REFRESH == 0) { /* transforms do not scale: without refreshing, the values would grow to infinity */
            memset(one, 0, b->length * sizeof *one);
            one[1] = 1e-10f;
        }
        qb__fft_forward(b->fft, one, two);
        qb__fft_backward(b->fft, two, one);
    }
}

static void run_prep(void *context, size_t task, int worker) {
    (void)task;
    bench *b = context;
    qb__prep_counts counts = {0};
    for (size_t r = 0; r < ROWS; r++)
        qb__prep_row(&b->prep, 0, 0, b->raw + r * b->columns, b->lines + (size_t)worker * b->columns, &counts);
}

static qb_status allocate(bench *b, size_t threads) {
    QB__OR_RETURN(qb__alloc(ROWS * b->columns, sizeof(float), &b->fresh));
    QB__OR_RETURN(qb__alloc(threads * ROWS * b->columns, sizeof(float), &b->rows));
    QB__OR_RETURN(qb__alloc(threads * b->columns, sizeof(float), &b->lines));
    QB__OR_RETURN(qb__alloc(threads, qb__filter_scratch(b->filter), &b->scratch));
    QB__OR_RETURN(qb__alloc(ROWS * b->columns, sizeof *b->raw, &b->raw));
    QB__OR_RETURN(qb__alloc(b->columns, sizeof(float), &b->dark));
    QB__OR_RETURN(qb__alloc(b->columns, sizeof(float), &b->gain));
    qb__noise(b->fresh, ROWS * b->columns, 1);
    for (size_t i = 0; i < ROWS * b->columns; i++) b->raw[i] = (unsigned short)(20000 + i * 7919 % 20000);
    for (size_t i = 0; i < b->columns; i++) {
        b->dark[i] = 100;
        b->gain[i] = 1.0f / 50000;
    }
    b->prep = (qb__prep){.quantity = QB_COUNTS,
                         .dtype = QB_U16,
                         .columns = b->columns,
                         .dark = b->dark,
                         .gain = b->gain,
                         .floor = 1e-6f};
    qb__prep_begin(&b->prep, NULL);
    return QB_OK;
}

static void release(bench *b) {
    qb__filter_destroy(b->filter);
    for (int i = 0; i < b->libraries; i++) qb__fft_destroy(b->ffts[i]);
    QB__FREE(b->fresh, b->rows, b->lines, b->scratch, b->raw, b->dark, b->gain);
}

static qb_status measure(bench *b, int threads, size_t tasks, int repeat, const qb_env *env, timing *t) {
    void (*const runs[])(void *, size_t, int) = {run_filter, run_prep, run_transforms};
    double seconds[2 + LIBRARIES_MOST][REPEAT_MAX];
    const int count = 2 + b->libraries;
    qb__pool *pool;
    qb_status status = qb__pool_create(threads, &pool);
    if (status != QB_OK) return status;
    for (int i = -1; i < repeat; i++) { /* the first round warms up */
        QB__TRY(qb__check_cancel(env));
        for (int k = 0; k < count; k++) {
            if (k >= 2) b->fft = b->ffts[k - 2];
            double from = qb__now();
            qb__pool_for(pool, tasks, runs[k < 2 ? k : 2], b);
            if (i >= 0) seconds[k][i] = qb__now() - from;
        }
    }
    t->filter = qb__median(seconds[0], (size_t)repeat);
    t->prep = qb__median(seconds[1], (size_t)repeat);
    for (int i = 0; i < b->libraries; i++) t->transforms[i] = qb__median(seconds[2 + i], (size_t)repeat);
out:
    qb__pool_destroy(pool);
    return status;
}

static void report(const bench *b, const timing *t, double rows, int threads, cJSON *result) {
    cJSON_AddNumberToObject(result, "threads", threads);
    cJSON_AddNumberToObject(result, "seconds_median", t->filter);
    cJSON_AddNumberToObject(result, "rows_per_second", rows / t->filter);
    cJSON_AddNumberToObject(result, "giga_samples_per_second", rows * (double)b->columns / t->filter * 1e-9);
    cJSON_AddNumberToObject(result, "bare_transforms_seconds_median", t->transforms[0]);
    cJSON_AddNumberToObject(result, "share_of_bare_transforms", t->transforms[0] / t->filter);
    cJSON *all = cJSON_AddObjectToObject(result, "bare_transforms_seconds_median_of");
    for (int i = 0; i < b->libraries; i++)
        cJSON_AddNumberToObject(all, qb__fft_library_name(qb__fft_libraries()[i]), t->transforms[i]);
    cJSON_AddNumberToObject(result, "prep_seconds_median", t->prep);
    cJSON_AddNumberToObject(result, "prep_giga_samples_per_second", rows * (double)b->columns / t->prep * 1e-9);
}

static qb_status thread_count(const qb_env *env, int *threads) {
    qb__pool *pool;
    QB__OR_RETURN(qb__pool_create(env ? env->threads : 0, &pool));
    *threads = qb__pool_threads(pool);
    qb__pool_destroy(pool);
    return QB_OK;
}

qb_status qb__bench_filter(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {.columns = (size_t)(options->detector.count ? options->detector.value[0] : options->size.value[0])};
    int repeat = options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat, threads;
    size_t tasks = (size_t)options->views;
    double rows = (double)tasks * ROWS;
    timing all, one;
    qb_status status;
    QB__TRY(thread_count(env, &threads));
    QB__TRY(qb__filter_create("ramp", QB_PAD_EDGE, b.columns, 1, &b.filter));
    b.length = qb__filter_length(b.filter);
    for (const qb__fft_library *const *l = qb__fft_libraries(); *l && b.libraries < LIBRARIES_MOST; l++) {
        QB__TRY(qb__fft_create_of(*l, QB__FFT_COMPLEX, b.length / 2, &b.ffts[b.libraries]));
        b.libraries++;
    }
    QB__TRY(allocate(&b, (size_t)threads));
    cJSON_AddStringToObject(result, "kernel", "filter");
    cJSON_AddStringToObject(result, "fft", qb__fft_library_name(qb__fft_libraries()[0]));
    cJSON_AddNumberToObject(result, "columns", (double)b.columns);
    cJSON_AddNumberToObject(result, "fft_length", (double)b.length);
    QB__TRY(measure(&b, threads, tasks, repeat, env, &all));
    report(&b, &all, rows, threads, result);
    if (threads > 1) {
        QB__TRY(measure(&b, 1, tasks, repeat, env, &one));
        report(&b, &one, rows, 1, cJSON_AddObjectToObject(result, "one_thread"));
    }
out:
    release(&b);
    return status;
}
