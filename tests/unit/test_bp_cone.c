/* SPDX-License-Identifier: MIT */
/* Kernels of a circular cone beam give the same bits whatever rows their window holds and however the slices are
 * cut. */
#include "check.h"

#include <stdlib.h>

#include "base/random.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/features.h"

enum { COLUMNS = 6, NX = 32, NY = 32, NZ = 600, ROWS = 140000, VIEWS = 16 };

static const qb__variant *usable(const qb__bp_cone_variant *v, const qb__bp_cone_problem *p) {
    const qb__variant *head = &v->head;
    return v->layers && (head->features & ~qb__cpu_features()) == 0 && !head->unusable(NULL, p, NULL) ? head : NULL;
}

/* Makes the matrix of one view. The slices fall onto the middle of a tall detector, where the mirror plane lies, or far
 * from it. */
static void make_matrix(int view, bool mirrored, double m[12]) {
    const double w = 1 + 0.001 * view, middle = (ROWS - 1) / 2.0;
    memset(m, 0, 12 * sizeof *m);
    m[0] = 0.2, m[1] = 0.07, m[3] = 0.4;
    m[8] = 0.0123, m[9] = 0.0071, m[11] = w;
    m[6] = 0.9 + 0.003 * view;
    if (mirrored) {
        m[4] = middle * m[8], m[5] = middle * m[9];
        m[7] = middle * m[11] - m[6] * (NZ - 1) / 2.0;
    } else {
        const double place =
            131045.1 + view; /* 32 cells more pass a power of two: adding them would round the number */
        m[4] = place * m[8] + 0.0137, m[5] = place * m[9] + 0.0091;
        m[7] = place * m[11];
    }
}

typedef struct bench {
    const qb__bp_cone_variant *variant;
    qb__bp_cone_problem problem;
    float *image; /* [ROWS][COLUMNS] */
    void *packed, *scratch;
} bench;

static void back_project(bench *b, qb__bp_cone_window window, size_t z0, size_t z1, float *out) {
    const qb__bp_cone_brick brick = {0, NX, 0, NY, z0, z1};
    b->variant->pack(&b->problem, 0, window, b->image + window.r0 * COLUMNS, COLUMNS, b->packed);
    b->variant->run(&b->problem, 0, 1, b->packed, window, brick, out, NX * NY, NX, false, b->scratch);
}

static void check_same(const float *a, const float *b, size_t z0, size_t z1) {
    const size_t slice = NX * NY;
    assert_memory_equal(a + z0 * slice, b + z0 * slice, (z1 - z0) * slice * sizeof *a);
}

/* Compares a window of all rows with one of only the needed rows, and one brick with bricks that are cut at `edge`. */
static void check_view(bench *b, size_t z0, size_t z1, const size_t *edge, int edges, float *one, float *other) {
    const size_t voxels = (size_t)NX * NY * NZ;
    const qb__bp_cone_window all = {0, ROWS}, few = qb__bp_cone_rows(&b->problem, z0, z1);
    double sum = 0;
    assert_true(few.r0 < few.r1 && few.r1 - few.r0 < 1000);
    memset(one, 0xff, voxels * sizeof *one);
    memset(other, 0xff, voxels * sizeof *other);
    back_project(b, all, z0, z1, one);
    back_project(b, few, z0, z1, other);
    check_same(one, other, z0, z1);
    for (int i = 0; i + 1 < edges; i++) back_project(b, few, edge[i], edge[i + 1], other);
    check_same(one, other, z0, z1);
    for (size_t i = z0 * NX * NY; i < z1 * NX * NY; i++) sum += fabs((double)one[i]);
    assert_true(sum > 0); /* the voxels do meet pixels */
}

static void check_variant(const qb__bp_cone_variant *variant, bool mirrored, float *one, float *other, float *image) {
    static const size_t cut[] = {0, 128, 200, 256, 384, 512, NZ}, above[] = {310, 400, 428, 500, 556, NZ},
                        below[] = {0, 44, 100, 172, 290};
    double matrix[12];
    bench b = {.variant = variant,
               .image = image,
               .problem = {.views = 1,
                           .columns = COLUMNS,
                           .rows = ROWS,
                           .nx = NX,
                           .ny = NY,
                           .nz = NZ,
                           .matrix = (const double(*)[12]) & matrix}};
    make_matrix(0, mirrored, matrix);
    if (!usable(variant, &b.problem)) return;
    b.packed = aligned_alloc(64, variant->view_bytes(&b.problem, (qb__bp_cone_window){0, ROWS}));
    b.scratch = aligned_alloc(64, (variant->scratch_bytes(&b.problem) + 63) / 64 * 64);
    assert_non_null(b.packed);
    assert_non_null(b.scratch);
    for (int view = 0; view < VIEWS; view++) {
        make_matrix(view, mirrored, matrix);
        if (!mirrored) {
            check_view(&b, 0, NZ, cut, 7, one, other);
            continue;
        }
        check_view(&b, above[0], NZ, above, 6, one, other);
        check_view(&b, 0, below[4], below, 5, one, other);
    }
    free(b.packed);
    free(b.scratch);
}

static void test_bits(void **state) {
    (void)state;
    const size_t voxels = (size_t)NX * NY * NZ;
    float *one = malloc(voxels * sizeof *one), *other = malloc(voxels * sizeof *other),
          *image = malloc((size_t)ROWS * COLUMNS * sizeof *image);
    size_t count;
    const qb__bp_cone_variant *const all = qb__bp_cone_variants(&count);
    assert_true(one && other && image);
    qb__noise(image, (size_t)ROWS * COLUMNS, 1);
    for (size_t i = 0; i < count; i++)
        for (int mirrored = 0; mirrored < 2; mirrored++) check_variant(&all[i], mirrored, one, other, image);
    free(one);
    free(other);
    free(image);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
