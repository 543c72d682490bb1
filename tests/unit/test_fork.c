/* SPDX-License-Identifier: MIT */
/* fork(). A child of a quiet process works. A child that was made while another thread was in the library returns an
 * error in words, because locks that nobody can open would let it hang. So do objects whose threads stayed in the
 * parent. */
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>

#include "check.h"
#include "quickbeam/quickbeam.h"
#include "quickbeam/simple.h"

enum { VIEWS = 12, ROWS = 2, N = 16, PATIENCE = 120 };

static float lines[VIEWS * ROWS * N], volume[ROWS * N * N]; /* nothing is in the beam */

static qb_status reconstruct(const qb_env *env) {
    double angles[VIEWS];
    const qb_tensor in = {.data = lines, .ndim = 3, .dtype = QB_F32, .shape = {VIEWS, ROWS, N}};
    qb_tensor out = {.data = volume, .ndim = 3, .dtype = QB_F32, .shape = {ROWS, N, N}};
    for (int i = 0; i < VIEWS; i++) angles[i] = 3.14159265358979 * i / VIEWS;
    char center[] = "7.5";
    const qb_fbp_options options = {.center = center};
    return qb_fbp(&in, angles, 1, &out, &options, env);
}

/* Returns the exit code of a child that runs `what`. A child that hangs is ended by its alarm and has no exit code. */
static int in_child(int (*what)(void *), void *self) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        _exit(what(self));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int works(void *unused) {
    (void)unused;
    const qb_env env = {.threads = 2, .device = "cpu"};
    return reconstruct(&env) == QB_OK ? 0 : 1;
}

static qb_status project(qb_projector *projector) {
    static float from[N * N], to[VIEWS * N];
    return qb_projector_forward(projector, from, 0, VIEWS, NULL, to);
}

static int refuses_projector(void *projector) {
    const bool said = project(projector) == QB_BAD_ARGUMENT && strstr(qb_detail(), "fork()");
    qb_projector_destroy(projector); /* must not wait for threads that stayed in the parent */
    return said ? works(NULL) : 1;
}

static void a_quiet_process(void **state) {
    (void)state;
    qb_projector *projector;
    qb_geometry geometry;
    double angles[VIEWS] = {0};
    const qb_env env = {.threads = 2, .device = "cpu"};
    const qb_detector detector = {.rows = 1, .columns = N, .pixel_u = 1, .pixel_v = 1};
    const qb_geometry_options circle = {.sod = 100, .sdd = 150};
    const qb_grid grid = {.n = {N, N, 1}, .voxel = {1, 1, 1}};
    for (int i = 0; i < VIEWS; i++) angles[i] = 3.14159265358979 * i / VIEWS;
    assert_int_equal(works(NULL), 0);
    assert_int_equal(in_child(works, NULL), 0);
    assert_ok(qb_geometry_make(&circle, VIEWS, angles, &detector, NULL, &geometry));
    assert_ok(qb_projector_create(&geometry, &grid, NULL, &env, &projector));
    assert_int_equal(in_child(refuses_projector, projector), 0);
    assert_ok(project(projector));
    qb_projector_destroy(projector);
    qb_geometry_destroy(&geometry);
}

/* ---- while another thread works ---- */

typedef struct meeting {
    int arrived[2], go_on[2]; /* pipes */
    qb_status status;
    bool met;
} meeting;

static void wait_there(void *user, const char *what, uint64_t done, uint64_t total) {
    meeting *m = user;
    char byte = 0;
    (void)what, (void)done, (void)total;
    if (m->met) return;
    m->met = true;
    assert_int_equal(write(m->arrived[1], &byte, 1), 1);
    assert_int_equal(read(m->go_on[0], &byte, 1), 1);
}

static void *run_in_thread(void *self) {
    meeting *m = self;
    const qb_env env = {.threads = 2, .device = "cpu", .user = m, .progress = wait_there};
    m->status = reconstruct(&env);
    return NULL;
}

static int refuses(void *unused) {
    (void)unused;
    qb_scan *scan;
    const qb_env env = {.threads = 2, .device = "cpu"};
    if (reconstruct(&env) != QB_UNSUPPORTED || !strstr(qb_detail(), "fork()")) return 1;
    return qb_scan_open("none.h5", NULL, NULL, &scan) == QB_UNSUPPORTED ? 0 : 2;
}

static void a_busy_process(void **state) {
    (void)state;
    meeting m = {.status = QB_INTERNAL};
    pthread_t thread;
    char byte = 0;
    assert_int_equal(pipe(m.arrived) | pipe(m.go_on), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &m), 0);
    assert_int_equal(read(m.arrived[0], &byte, 1), 1);
    assert_int_equal(in_child(refuses, NULL), 0);
    assert_int_equal(write(m.go_on[1], &byte, 1), 1);
    pthread_join(thread, NULL);
    assert_ok(m.status); /* nothing that the child does reaches the parent */
    assert_int_equal(in_child(works, NULL), 0);
    for (int i = 0; i < 2; i++) close(m.arrived[i]), close(m.go_on[i]);
}

static void too_many_threads(void **state) {
    (void)state;
    static const int many[] = {4097, INT_MAX};
    for (int i = 0; i < 2; i++) {
        const qb_env env = {.threads = many[i], .device = "cpu"};
        assert_status(reconstruct(&env), QB_BAD_ARGUMENT);
        assert_non_null(strstr(qb_detail(), "threads: at most 4096"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_quiet_process), cmocka_unit_test(a_busy_process),
                                       cmocka_unit_test(too_many_threads)};
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
