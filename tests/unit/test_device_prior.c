/* SPDX-License-Identifier: MIT */
/* Slopes and steps of the prior on devices. Volumes there have the order in which projections keep them. */
#include "on_devices.h"
#include "ops/vectors_device.h"
#include "prior_truth.h"

typedef struct place {
    qb__joseph_shape shape;
    size_t floats;
} place;

static float *numbers; /* room for a whole vector */

static size_t at(const place *p, const trial *t, size_t i) {
    const size_t x = i % t->n[0], y = i / t->n[0] % t->n[1], z = i / t->n[0] / t->n[1];
    const size_t edge = (size_t)p->shape.edge;
    return ((y + edge) * (size_t)p->shape.across + x + edge) * (size_t)p->shape.line + (size_t)p->shape.front + z;
}

static void put(const place *p, const trial *t, const float *from, void *vector) {
    memset(numbers, 0, p->floats * sizeof *numbers);
    for (size_t i = 0; i < t->count; i++) numbers[at(p, t, i)] = from[i];
    assert_ok(qb__memory_upload(queue, vector, 0, numbers, p->floats * sizeof *numbers));
    assert_ok(qb__queue_finish(queue));
}

/* Downloads a vector of the volume. What lies around the volume must still be zero. */
static void get(const place *p, const trial *t, const void *vector, float *to) {
    assert_ok(qb__memory_download(queue, vector, 0, numbers, p->floats * sizeof *numbers));
    assert_ok(qb__queue_finish(queue));
    for (size_t i = 0; i < t->count; i++) {
        to[i] = numbers[at(p, t, i)];
        numbers[at(p, t, i)] = 0;
    }
    for (size_t i = 0; i < p->floats; i++) assert_true(numbers[i] == 0);
}

static void run(trial *t, int k) {
    static float slope[MOST], curve[MOST], poison[MOST];
    const double angles[] = {0, 1};
    const qb_grid grid = {.n = {t->n[0], t->n[1], t->n[2]}, .voxel = {1, 1, 1}};
    qb_geometry geometry;
    qb__device_vectors own;
    qb__vectors vectors;
    void *v[4];
    assert_ok(qb_geometry_cone(2, angles, 3, 5, 1, 1, 100, 200, 0, 0, &geometry));
    const qb__joseph_problem problem = {
        .views = 2, .rows = 3, .columns = 5, .planes = 1, .geometry = &geometry, .grid = &grid};
    place p = {.floats = qb__device_vector_bytes(&problem, QB__UNKNOWNS) / sizeof(float)};
    qb__joseph_shape_of(&problem, true, &p.shape);
    numbers = malloc(p.floats * sizeof *numbers);
    assert_non_null(numbers);
    assert_ok(qb__device_vectors_create(device, queue, &problem, &own, &vectors));
    for (int i = 0; i < 4; i++) assert_ok(qb__vector_make(&vectors, QB__UNKNOWNS, t->count, &v[i]));
    const qb__prior_numbers prior = qb__prior_numbers_of(&t->prior, t->pull);
    for (int only = 0; only < 2; only++) {
        for (size_t i = 0; i < MOST; i++) poison[i] = NAN;
        put(&p, t, t->x, v[0]);
        put(&p, t, t->slope, v[1]);
        put(&p, t, only ? poison : t->curve, v[2]);
        put(&p, t, t->toward, v[3]);
        const qb__prior_step_of step = {.x = v[0],
                                        .slope = v[1],
                                        .curve = v[2],
                                        .toward = t->pull > 0 ? v[3] : NULL,
                                        .data = t->data,
                                        .nonneg = k % 2,
                                        .only_slopes = only,
                                        .cost = true};
        const double cost = qb__vector_prior(&vectors, &prior, &step, t->count);
        assert_ok(qb__vectors_status(&vectors));
        get(&p, t, v[1], slope);
        get(&p, t, v[2], curve);
        if (only)
            check_slopes(t, slope, curve);
        else
            check_step(t, slope, k % 2);
        qb__prior_numbers here = prior;
        double cost_here = 0;
        here.data = 0;
        qb__prior_volume volume = {
            .x = t->x, .slope = poison, .curve = curve, .toward = t->pull > 0 ? t->toward : NULL, .cost = true};
        memcpy(volume.n, t->n, sizeof volume.n);
        qb__prior_for_cpu()(&here, &volume, 0, t->count, &cost_here);
        assert_close(cost, cost_here, 1e-4 * cost_here);
    }
    qb__device_vectors_destroy(&own);
    qb_geometry_destroy(&geometry);
    free(numbers);
}

static void slopes_and_steps(void **state) {
    static trial t;
    (void)state;
    for (int k = 0; k < 12; k++) {
        throw_trial(&t, &chance);
        run(&t, k);
    }
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slopes_and_steps)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

int main(int count, char **words) { return on_devices(count > 1 ? words[1] : NULL, group); }
