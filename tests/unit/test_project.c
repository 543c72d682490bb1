/* SPDX-License-Identifier: MIT */
/* What a projector refuses, what it copies for itself, and results that can be computed by hand. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "ops/project.h"
#include "quickbeam/project.h"

static const qb_grid cube = {{8, 8, 8}, {1, 1, 1}, {0, 0, 0}};

static qb_geometry cone(double sod) {
    const double angles[3] = {0, 1, 2};
    qb_geometry g;
    assert_int_equal(qb_geometry_cone(3, angles, 12, 16, 1, 1, sod, 100 + sod, 0, 0, &g), QB_OK);
    return g;
}

static void refuse(qb_geometry *g, const qb_grid *grid, const char *kernel, qb_status status, const char *why) {
    qb_projector *p = (qb_projector *)g;
    assert_int_equal(qb_projector_create(g, grid, kernel, NULL, &p), status);
    assert_null(p);
    if (!strstr(qb_detail(), why)) fail_msg("\"%s\" does not say \"%s\"", qb_detail(), why);
}

static void what_cannot_be_projected_is_refused(void **state) {
    (void)state;
    qb_geometry inside = cone(1.5), good = cone(50);
    refuse(&inside, &cube, NULL, QB_BAD_INPUT, "view 0: the source is 2.5 mm inside the volume");
    qb_grid grid = cube;
    grid.n[1] = 0;
    refuse(&good, &grid, NULL, QB_BAD_ARGUMENT, "8 x 0 x 8");
    grid = cube, grid.voxel[2] = NAN;
    refuse(&good, &grid, NULL, QB_BAD_ARGUMENT, "nan mm");
    grid = cube, grid.n[0] = grid.n[1] = grid.n[2] = (size_t)1 << 24;
    refuse(&good, &grid, NULL, QB_BAD_ARGUMENT, "too large");
    grid = cube, grid.offset[2] = 40;
    refuse(&good, &grid, NULL, QB_BAD_INPUT, "no view sees anything of the volume: in view 0");
    refuse(&good, &cube, "project_joseph.sparc", QB_BAD_ARGUMENT, "project_joseph.sparc");
    good.view[1].u[2] = INFINITY;
    refuse(&good, &cube, NULL, QB_BAD_INPUT, "view 1: u[2] is inf");
    qb_geometry_destroy(&inside);
    qb_geometry_destroy(&good);
}

static void views_that_there_are_not_are_refused(void **state) {
    (void)state;
    qb_geometry g = cone(50);
    qb_projector *p;
    float volume[512] = {0}, lines[3 * 12 * 16];
    assert_int_equal(qb_projector_create(&g, &cube, NULL, NULL, &p), QB_OK);
    qb_geometry_destroy(&g); /* the projector has its own copy */
    assert_int_equal(qb_projector_forward(p, volume, 2, 4, NULL, lines), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "views 2 to 4 of a geometry that has 3"));
    assert_int_equal(qb_projector_adjoint(p, lines, 1, 1, false, NULL, volume), QB_BAD_ARGUMENT);
    volatile sig_atomic_t stop = 1;
    assert_int_equal(qb_projector_forward(p, volume, 0, 3, &(qb_env){.cancel = &stop}, lines), QB_CANCELLED);
    assert_int_equal(qb_projector_adjoint(p, lines, 0, 3, false, &(qb_env){.cancel = &stop}, volume), QB_CANCELLED);
    qb_projector_destroy(p);
}

/* The data of one of two threads that share a projector: what it projects forward and back, and the results of its
 * first time. */
typedef struct turn {
    qb_projector *projector;
    float volume[512], lines[3 * 12 * 16], back[512], alone[512];
    int wrong;
} turn;

static void *project_again_and_again(void *of) {
    enum { TIMES = 400 };
    turn *t = of;
    for (int i = 0; i < TIMES; i++) {
        if (qb_projector_forward(t->projector, t->volume, 0, 3, NULL, t->lines) != QB_OK ||
            qb_projector_adjoint(t->projector, t->lines, 0, 3, false, NULL, t->back) != QB_OK)
            t->wrong++;
        if (memcmp(t->back, t->alone, sizeof t->back) != 0) t->wrong++;
    }
    return NULL;
}

static void threads_may_share_a_projector(void **state) {
    (void)state;
    static turn turns[2];
    qb_geometry g = cone(50);
    qb_projector *p;
    pthread_t other;
    assert_int_equal(qb_projector_create(&g, &cube, NULL, &(qb_env){.threads = 1}, &p), QB_OK);
    for (int t = 0; t < 2; t++) {
        turns[t].projector = p;
        for (int i = 0; i < 512; i++) turns[t].volume[i] = (float)(t ? 512 - i : i);
        assert_int_equal(qb_projector_forward(p, turns[t].volume, 0, 3, NULL, turns[t].lines), QB_OK);
        assert_int_equal(qb_projector_adjoint(p, turns[t].lines, 0, 3, false, NULL, turns[t].alone), QB_OK);
    }
    assert_int_equal(pthread_create(&other, NULL, project_again_and_again, &turns[1]), 0);
    project_again_and_again(&turns[0]);
    pthread_join(other, NULL);
    assert_int_equal(turns[0].wrong + turns[1].wrong, 0);
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

/* Back-projects a thread's views again and again into a shared volume. The operator must copy it. */
static void *accumulate_again_and_again(void *of) {
    enum { TIMES = 50 };
    static float shared[512]; /* [x][y][z] */
    turn *t = of;
    const qb_tensor lines = {.data = t->lines, .dtype = QB_F32, .ndim = 3, .shape = {3, 12, 16}};
    const qb_tensor volume = {.data = shared, .dtype = QB_F32, .ndim = 3, .shape = {8, 8, 8}, .strides = {1, 8, 64}};
    for (int i = 0; i < TIMES; i++)
        t->wrong += qb_projector_adjoint_tensor(t->projector, &lines, 0, 3, true, NULL, &volume) != QB_OK;
    return shared;
}

static void threads_may_accumulate_into_one_volume(void **state) {
    (void)state;
    static turn turns[2];
    qb_geometry g = cone(50);
    pthread_t other;
    double sum = 0, want = 0;
    assert_int_equal(qb_projector_create(&g, &cube, NULL, &(qb_env){.threads = 1}, &turns[0].projector), QB_OK);
    turns[1].projector = turns[0].projector;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3 * 12 * 16; i++) turns[t].lines[i] = 1;
        assert_int_equal(qb_projector_adjoint(turns[t].projector, turns[t].lines, 0, 3, false, NULL, turns[t].back),
                         QB_OK);
        for (int i = 0; i < 512; i++) want += 50 * (double)turns[t].back[i];
    }
    assert_int_equal(pthread_create(&other, NULL, accumulate_again_and_again, &turns[1]), 0);
    const float *shared = accumulate_again_and_again(&turns[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 512; i++) sum += (double)shared[i];
    assert_int_equal(turns[0].wrong + turns[1].wrong, 0);
    if (!(fabs(sum / want - 1) < 1e-4)) fail_msg("%g of %g", sum, want);
    qb_projector_destroy(turns[0].projector);
    qb_geometry_destroy(&g);
}

static void a_call_that_waits_is_cancelled(void **state) {
    (void)state;
    qb_geometry g = cone(50);
    qb_projector *p;
    volatile sig_atomic_t stop = 1;
    float volume[512] = {0}, lines[3 * 12 * 16];
    assert_int_equal(qb_projector_create(&g, &cube, NULL, NULL, &p), QB_OK);
    assert_int_equal(qb__project_enter(p, 0, 3, NULL), QB_OK); /* this call does not leave the projector */
    assert_int_equal(qb_projector_forward(p, volume, 0, 3, &(qb_env){.cancel = &stop}, lines), QB_CANCELLED);
    assert_int_equal(qb__project_leave(p, QB_NO_MEMORY), QB_NO_MEMORY);
    assert_int_equal(qb_projector_forward(p, volume, 0, 3, NULL, lines), QB_OK);
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

/* One view along x through a volume whose voxels hold their own index. */
static void rays_along_an_axis_are_sums(void **state) {
    (void)state;
    const double angle = -1.57079632679489661923; /* rays run along (1, 0, 0) */
    const qb_grid grid = {{5, 4, 3}, {0.5, 2, 2}, {0, 0, 0}};
    float volume[60], lines[12], back[60];
    for (int i = 0; i < 60; i++) volume[i] = (float)(i * i);
    qb_geometry g;
    qb_projector *p;
    assert_int_equal(qb_geometry_parallel(1, &angle, 3, 4, 2, 1.5, &g), QB_OK);
    assert_int_equal(qb_projector_create(&g, &grid, NULL, NULL, &p), QB_OK);
    assert_int_equal(qb_projector_forward(p, volume, 0, 1, NULL, lines), QB_OK);
    for (int z = 0; z < 3; z++) {
        for (int y = 0; y < 4; y++) {
            double sum = 0;
            for (int x = 0; x < 5; x++) sum += 0.5 * volume[(z * 4 + y) * 5 + x];
            /* Columns run along (cos t, sin t, 0) = -y. */
            assert_true(fabs((double)lines[z * 4 + 3 - y] - sum) < 1e-5 * sum + 1e-6);
        }
    }
    for (int i = 0; i < 12; i++) lines[i] = (float)i;
    for (int i = 0; i < 60; i++) back[i] = 100;
    assert_int_equal(qb_projector_adjoint(p, lines, 0, 1, true, NULL, back), QB_OK);
    for (int i = 0; i < 60; i++) assert_true(fabsf(back[i] - 100 - 0.5f * (float)(i / 20 * 4 + 3 - i / 5 % 4)) < 1e-4f);
    assert_int_equal(qb_projector_adjoint(p, lines, 0, 1, false, NULL, back), QB_OK);
    assert_true(fabsf(back[0] - 1.5f) < 1e-5f);
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

/* Arrays with any strides, and arrays that cannot exist. */
static void arrays_are_what_dense_memory_is(void **state) {
    (void)state;
    enum { VIEWS = 3, ROWS = 12, COLUMNS = 16, LINES = VIEWS * ROWS * COLUMNS };
    qb_geometry g = cone(50);
    qb_projector *p;
    float volume[512], turned[512], lines[LINES], gaps[2 * LINES], back[512], turned_back[512];
    for (int i = 0; i < 512; i++)
        volume[i] = (float)(i % 37), turned[511 - i] = volume[i], back[i] = turned_back[i] = 1;
    for (int i = 0; i < 2 * LINES; i++) gaps[i] = -7;
    assert_int_equal(qb_projector_create(&g, &cube, NULL, NULL, &p), QB_OK);
    qb_tensor x = {.data = turned + 511, .dtype = QB_F32, .ndim = 3, .shape = {8, 8, 8}, .strides = {-64, -8, -1}};
    qb_tensor y = {.data = gaps,
                   .dtype = QB_F32,
                   .ndim = 3,
                   .shape = {2, ROWS, COLUMNS},
                   .strides = {2 * ROWS * COLUMNS, 2 * COLUMNS, 2}};
    assert_int_equal(qb_projector_forward(p, volume, 1, 3, NULL, lines), QB_OK);
    assert_int_equal(qb_projector_forward_tensor(p, &x, 1, 3, NULL, &y), QB_OK);
    for (int i = 0; i < 2 * ROWS * COLUMNS; i++) assert_true(gaps[2 * i] == lines[i] && gaps[2 * i + 1] == -7);
    x.data = turned_back + 511;
    for (int accumulate = 1; accumulate >= 0; accumulate--) {
        assert_int_equal(qb_projector_adjoint(p, lines, 1, 3, accumulate, NULL, back), QB_OK);
        assert_int_equal(qb_projector_adjoint_tensor(p, &y, 1, 3, accumulate, NULL, &x), QB_OK);
        for (int i = 0; i < 512; i++) assert_true(back[i] == turned_back[511 - i]);
    }
    assert_int_equal(qb_projector_forward_tensor(p, &x, 0, 3, NULL, &y), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "the array of projections has 2 x 12 x 16 elements, not 3 x 12 x 16"));
    assert_int_equal(qb_projector_forward_tensor(p, &x, 2, 4, NULL, &y), QB_BAD_ARGUMENT);
    assert_int_equal(qb_projector_forward_tensor(p, NULL, 1, 3, NULL, &y), QB_BAD_ARGUMENT);
    y.data = turned_back;
    assert_int_equal(qb_projector_adjoint_tensor(p, &y, 1, 3, false, NULL, &x), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "overlaps"));
    x.dtype = QB_F64;
    assert_int_equal(qb_projector_adjoint_tensor(p, &y, 1, 3, false, NULL, &x), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "float64"));
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

/* Two dimensions are [view][column] where a view is one row. */
static void a_fans_projections_have_two_dimensions(void **state) {
    (void)state;
    enum { VIEWS = 3, COLUMNS = 16 };
    qb_geometry g = cone(50);
    qb_projector *p;
    qb_env env = {.struct_size = 5};
    float volume[512], lines[VIEWS * COLUMNS], same[VIEWS * COLUMNS] = {0}, back[512], same_back[512];
    g.rows = 1;
    for (int i = 0; i < 512; i++) volume[i] = (float)(i % 37);
    assert_int_equal(qb_projector_create(&g, &cube, NULL, &env, &p), QB_BAD_ARGUMENT);
    assert_int_equal(qb_projector_create(&g, &cube, NULL, NULL, &p), QB_OK);
    const qb_tensor x = {.data = volume, .dtype = QB_F32, .ndim = 3, .shape = {8, 8, 8}};
    const qb_tensor to = {.data = same_back, .dtype = QB_F32, .ndim = 3, .shape = {8, 8, 8}};
    const qb_tensor y = {.data = same, .dtype = QB_F32, .ndim = 2, .shape = {VIEWS, COLUMNS}};
    assert_int_equal(qb_projector_forward(p, volume, 0, VIEWS, NULL, lines), QB_OK);
    assert_int_equal(qb_projector_forward_tensor(p, &x, 0, VIEWS, NULL, &y), QB_OK);
    assert_memory_equal(lines, same, sizeof lines);
    assert_int_equal(qb_projector_adjoint(p, lines, 0, VIEWS, false, NULL, back), QB_OK);
    assert_int_equal(qb_projector_adjoint_tensor(p, &y, 0, VIEWS, false, NULL, &to), QB_OK);
    assert_memory_equal(back, same_back, sizeof back);
    assert_int_equal(qb_projector_forward_tensor(p, &x, 0, VIEWS, &env, &y), QB_BAD_ARGUMENT);
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

/* A large value affects only the rays that pass it. A value that is not finite is refused. */
static void a_value_stays_where_it_is(void **state) {
    (void)state;
    qb_geometry g = cone(200);
    qb_projector *p;
    float volume[512], lines[3 * 12 * 16];
    for (int i = 0; i < 512; i++) volume[i] = 1;
    assert_int_equal(qb_projector_create(&g, &cube, NULL, NULL, &p), QB_OK);
    volume[(4 * 8 + 4) * 8 + 4] = 1e30f;
    assert_int_equal(qb_projector_forward(p, volume, 0, 3, NULL, lines), QB_OK);
    int reached = 0;
    for (int i = 0; i < 3 * 12 * 16; i++) reached += fabsf(lines[i]) > 1e15f;
    assert_true(reached >= 3 && reached <= 3 * 16);
    volume[(4 * 8 + 4) * 8 + 4] = NAN;
    assert_int_equal(qb_projector_forward(p, volume, 0, 3, NULL, lines), QB_BAD_ARGUMENT);
    qb_projector_destroy(p);
    qb_geometry_destroy(&g);
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    qb_geometry g = cone(50);
    float volume[512] = {0}, lines[3 * 12 * 16];
    size_t n = 0;
    qb_status status = QB_NO_MEMORY;
    while (status != QB_OK && n < 100) {
        qb_projector *p = NULL;
        qb__fail_allocation(++n);
        status = qb_projector_create(&g, &cube, NULL, &(qb_env){.threads = 2}, &p);
        if (status == QB_OK) status = qb_projector_forward(p, volume, 0, 3, NULL, lines);
        if (status == QB_OK) status = qb_projector_adjoint(p, lines, 0, 3, false, NULL, volume);
        qb__fail_allocation(0);
        qb_projector_destroy(p);
        assert_true(status == QB_OK || status == QB_NO_MEMORY);
    }
    assert_true(n > 8 && n < 100);
    qb_geometry_destroy(&g);
}

/* The number of slices, edges included, from which the forward kernel can no longer count floats in 32 bits. */
static void slabs_of_more_floats_than_32_bits_count(void **state) {
    (void)state;
    const qb_grid large = {{2048, 2048, 1500}, {1, 1, 1}, {0, 0, 0}};
    const qb__joseph_problem p = {.grid = &large};
    size_t slices = 1;
    while (slices < 1500 && !qb__joseph_is_wide(&p, slices)) slices++;
    assert_in_range(slices, 900, 1023);
    assert_true(qb__joseph_slab_bytes(&p, slices) > (size_t)1 << 34);
    assert_true(qb__joseph_slab_bytes(&p, slices - 1) <= (size_t)1 << 34);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_projected_is_refused),
        cmocka_unit_test(views_that_there_are_not_are_refused),
        cmocka_unit_test(threads_may_share_a_projector),
        cmocka_unit_test(threads_may_accumulate_into_one_volume),
        cmocka_unit_test(a_call_that_waits_is_cancelled),
        cmocka_unit_test(rays_along_an_axis_are_sums),
        cmocka_unit_test(arrays_are_what_dense_memory_is),
        cmocka_unit_test(a_fans_projections_have_two_dimensions),
        cmocka_unit_test(a_value_stays_where_it_is),
        cmocka_unit_test(slabs_of_more_floats_than_32_bits_count),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
