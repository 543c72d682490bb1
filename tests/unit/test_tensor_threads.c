/* SPDX-License-Identifier: MIT */
/* Several threads reconstruct arrays at once, and one is stopped by another. */
#include "arrays.h"

#include <pthread.h>

typedef struct worker {
    int kind;
    qb_status status;
    float *volume;
} worker;

static void *reconstruct(void *context) {
    worker *w = context;
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(w->volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_env env = {.threads = 2};
    qb_fbp_options options = fbp_options();
    for (int i = 0; i < 5 && w->status == QB_OK; i++)
        w->status = w->kind ? qb_fdk(&from, &circle, &to, NULL, &env) : qb_fbp(&from, angles, 0.5, &to, &options, &env);
    qb_params_clear(qb_fbp_params, &options);
    return NULL;
}

static void two_threads_at_once(void **state) {
    (void)state;
    enum { WORKERS = 4 };
    pthread_t thread[WORKERS];
    worker alone[2] = {{.kind = 0}, {.kind = 1}}, together[WORKERS] = {0};
    size_t bytes = ROWS * COLUMNS * COLUMNS * sizeof(float);
    for (int i = 0; i < 2; i++) {
        alone[i].volume = calloc(1, bytes);
        reconstruct(&alone[i]);
        assert_ok(alone[i].status);
    }
    for (int i = 0; i < WORKERS; i++) {
        together[i] = (worker){.kind = i % 2, .volume = calloc(1, bytes)};
        assert_int_equal(pthread_create(&thread[i], NULL, reconstruct, &together[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        assert_ok(together[i].status);
        assert_memory_equal(together[i].volume, alone[i % 2].volume, bytes);
        free(together[i].volume);
    }
    free(alone[0].volume);
    free(alone[1].volume);
}

/* One thread reconstructs. At its first progress report it waits until the other thread has asked it to stop. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool begun, asked;
    volatile sig_atomic_t stop;
} meeting;

static void wait_for_the_other(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)what, (void)done, (void)total;
    meeting *m = user;
    pthread_mutex_lock(&m->lock);
    m->begun = true;
    pthread_cond_broadcast(&m->moved);
    while (!m->asked) pthread_cond_wait(&m->moved, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static void *ask_to_stop(void *context) {
    meeting *m = context;
    pthread_mutex_lock(&m->lock);
    while (!m->begun) pthread_cond_wait(&m->moved, &m->lock);
    __atomic_store_n(&m->stop, 1, __ATOMIC_RELAXED);
    m->asked = true;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static void cancelled_by_another_thread(void **state) {
    (void)state;
    enum { MANY = 600 }; /* the same row many times, which gives many chunks */
    float *volume = calloc(MANY * COLUMNS * COLUMNS, sizeof *volume);
    float *sums = calloc(MANY * COLUMNS, sizeof *sums);
    double turn[MANY];
    qb_geometry fan;
    qb_tensor rows = dense(lines, QB_F32, VIEWS, MANY, COLUMNS);
    rows.strides[0] = ROWS * COLUMNS, rows.strides[2] = 1;
    const qb_tensor slices = dense(volume, QB_F32, MANY, COLUMNS, COLUMNS);
    const qb_tensor slice = dense(volume, QB_F32, 1, COLUMNS, COLUMNS);
    const qb_tensor views = dense(sums, QB_F32, MANY, 1, COLUMNS);
    qb_fbp_options options = fbp_options();
    for (int i = 0; i < MANY; i++) turn[i] = 2 * M_PI * i / MANY;
    assert_ok(qb_geometry_cone(MANY, turn, 1, COLUMNS, 0.5, 0.5, 100, 150, 0, 0, &fan));
    for (int call = 0; call < 2; call++) {
        pthread_t other;
        meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
        qb_env env = {.struct_size = sizeof env,
                      .threads = 2,
                      .progress = wait_for_the_other,
                      .user = &m,
                      .cancel = &m.stop,
                      .device = "cpu"};
        assert_int_equal(pthread_create(&other, NULL, ask_to_stop, &m), 0);
        qb_status status = call ? qb_project(&slice, NULL, &fan, &views, NULL, &env)
                                : qb_fbp(&rows, angles, 0.5, &slices, &options, &env);
        if (!m.begun) wait_for_the_other(&m, "", 0, 0);
        pthread_join(other, NULL);
        assert_status(status, QB_CANCELLED);
        assert_non_null(strstr(qb_detail(), "interrupted"));
    }
    qb_geometry_destroy(&fan);
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
    free(sums);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_at_once),
        cmocka_unit_test(cancelled_by_another_thread),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
