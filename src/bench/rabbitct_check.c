/* SPDX-License-Identifier: MIT */
#include "bench/rabbitct_check.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "cpu/bp_cone/bp_cone.h"

enum { SAMPLES = QB__RABBITCT_SAMPLES };

static qb__bp_cone_problem one_view(const qb__rabbitct *set, size_t size, double (*matrix)[12]) {
    return (qb__bp_cone_problem){.views = 1,
                                 .columns = set->columns,
                                 .rows = set->rows,
                                 .nx = size,
                                 .ny = size,
                                 .nz = size,
                                 .matrix = (const double(*)[12])matrix};
}

static double at_corner(const double *row, int which, double edge) {
    return row[0] * (which & 1 ? edge : 0) + row[1] * (which & 2 ? edge : 0) + row[2] * (which & 4 ? edge : 0) + row[3];
}

/* True if the images of the cube's corners meet the detector. */
static bool sees(const qb__rabbitct *set, const double matrix[12], double edge) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < 8; i++) {
        const double w = at_corner(matrix + 8, i, edge);
        for (int k = 0; k < 2; k++) {
            const double at = at_corner(matrix + 4 * k, i, edge) / w;
            low[k] = fmin(low[k], at), high[k] = fmax(high[k], at);
        }
    }
    return high[0] > -1 && low[0] < (double)set->columns && high[1] > -1 && low[1] < (double)set->rows;
}

qb_status qb__rabbitct_check_matrices(const qb__rabbitct *set, size_t size) {
    size_t seen = 0;
    for (size_t v = 0; v < set->views; v++) {
        double world[12], matrix[1][12];
        QB__OR_RETURN(qb__rabbitct_view(set, v, world, NULL));
        qb__rabbitct_matrix(world, size, matrix[0]);
        const qb__bp_cone_problem one = one_view(set, size, matrix);
        const double w = qb__bp_cone_nearest(&one);
        if (!(w > 0))
            return qb__fail(QB_BAD_INPUT,
                            "%s: in view %zu a corner of the cube has w = %g, not positive: the source lies "
                            "in or behind the cube",
                            set->path, v, w);
        seen += sees(set, matrix[0], (double)size - 1);
    }
    if (seen > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: none of the %zu views sees the cube: its shadow misses the %zu x %zu pixels",
                    set->path, set->views, set->columns, set->rows);
}

qb_status qb__rabbitct_check_size(const qb_numbers *given, size_t *size) {
    const double n = given->value[0];
    if (given->count != 1 || n != floor(n) || !qb__rabbitct_is_size((size_t)n))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--size %g: RabbitCT's cubes have 128, 256, 512 or 1024 voxels "
                        "on a side; give one number",
                        n);
    *size = (size_t)n;
    return QB_OK;
}

qb_status qb__rabbitct_load_reference(const qb__rabbitct *set, size_t size, const char *path, uint16_t **reference) {
    uint16_t *values;
    *reference = NULL;
    QB__OR_RETURN(qb__alloc(size * size * size, sizeof *values, &values));
    const qb_status status = path ? qb__rabbitct_volume(path, size, values) : qb__rabbitct_reference(set, size, values);
    if (status == QB_OK)
        *reference = values;
    else
        qb__free(values);
    return status == QB_NOT_FOUND && !path ? QB_OK : status;
}

void qb__rabbitct_draw_samples(size_t size, qb__rabbitct_sample *samples) {
    float random[3 * SAMPLES];
    qb__noise(random, 3 * SAMPLES, 1);
    for (size_t i = 0; i < 3 * SAMPLES; i++) {
        const double place = ((double)random[i] + 1) / 2 * (double)size;
        samples[i / 3].at[i % 3] = (size_t)fmin(place, (double)size - 1);
    }
    for (size_t i = 0; i < SAMPLES; i++) samples[i].sum = 0;
}

void qb__rabbitct_add_samples(const qb__rabbitct *set, size_t size, const double world[12], const float *image,
                              qb__rabbitct_sample *samples) {
    double matrix[1][12];
    qb__rabbitct_matrix(world, size, matrix[0]);
    const qb__bp_cone_problem one = one_view(set, size, matrix);
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t *at = samples[i].at;
        samples[i].sum += qb__bp_cone_reference(&one, 0, image, set->columns, at[0], at[1], at[2]);
    }
}

static void count_error(const qb__rabbitct *set, double got, double want, qb__rabbitct_quality *q) {
    const double error = qb__rabbitct_hu(set->hu, got) - want;
    q->rmse += error * error;
    q->largest = fmax(q->largest, fabs(error));
    q->compared++;
}

qb__rabbitct_quality qb__rabbitct_measure(const qb__rabbitct *set, size_t size, const float *volume,
                                          const uint16_t *reference, const qb__rabbitct_sample *samples) {
    qb__rabbitct_quality q = {0};
    double error2 = 0, norm2 = 0;
    for (size_t i = 0; reference && i < size * size * size; i++) count_error(set, (double)volume[i], reference[i], &q);
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t *at = samples[i].at;
        const double want = samples[i].sum;
        const double got = (double)volume[(at[2] * size + at[1]) * size + at[0]];
        error2 += (got - want) * (got - want);
        norm2 += want * want;
        if (!reference) count_error(set, got, qb__rabbitct_hu(set->hu, want), &q);
    }
    q.rmse = sqrt(q.rmse / (double)q.compared);
    q.rel_l2 = sqrt(error2 / norm2);
    return q;
}
