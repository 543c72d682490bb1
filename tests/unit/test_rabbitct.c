/* SPDX-License-Identifier: MIT */
/* A small synthetic data set is made, read back in both layouts, and back-projected by every
 * bp_cone_matrix variant that runs here; files that lie are refused. */
#include "check.h"

#include <unistd.h>

#include "base/pool.h"
#include "cpu/bp_cone.h"
#include "cpu/features.h"
#include "io/rabbitct.h"
#include "recon/rabbitct_synthetic.h"

enum { VIEWS = 60, COLUMNS = 312, ROWS = 240, SIZE = 128 };

static char folder[] = "/tmp/qb_rabbitct_XXXXXX", path[64], other[64];

static int make(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.rct", folder);
    snprintf(other, sizeof other, "%s/b.rct", folder);
    const qb__rabbitct_synthetic what = {COLUMNS, ROWS, VIEWS, SIZE};
    qb__pool *pool;
    if (qb__pool_create(0, &pool) != QB_OK) return 1;
    qb_status status = qb__rabbitct_synthesize(path, &what, pool);
    qb__pool_destroy(pool);
    return status != QB_OK;
}

static int clean(void **state) {
    (void)state;
    remove(path);
    remove(other);
    return rmdir(folder);
}

typedef struct loaded {
    qb__rabbitct set;
    qb__bp_cone_problem problem;
    double matrix[VIEWS][12];
    float largest[VIEWS];
    float *images;
} loaded;

static void load(const char *from, loaded *l) {
    assert_ok(qb__rabbitct_open(from, &l->set));
    assert_true(l->set.columns == COLUMNS && l->set.rows == ROWS && l->set.views == VIEWS);
    l->images = malloc((size_t)VIEWS * ROWS * COLUMNS * sizeof(float));
    for (size_t v = 0; v < VIEWS; v++) {
        double world[12];
        float *image = l->images + v * ROWS * COLUMNS;
        assert_ok(qb__rabbitct_view(&l->set, v, world, image));
        qb__rabbitct_matrix(world, SIZE, l->matrix[v]);
        l->largest[v] = 0;
        for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
            l->largest[v] = fmaxf(l->largest[v], fabsf(image[i]));
    }
    l->problem = (qb__bp_cone_problem){
        VIEWS, COLUMNS, ROWS, SIZE, SIZE, SIZE, (const double(*)[12])l->matrix, l->largest};
}

static void unload(loaded *l) {
    qb__rabbitct_close(&l->set);
    free(l->images);
}

static float *reconstruct(const loaded *l, const qb__bp_cone_variant *v) {
    const qb__bp_cone_problem *p = &l->problem;
    const qb__bp_cone_window window = {0, ROWS};
    const size_t bytes = v->view_bytes(p, window);
    char *packed = aligned_alloc(64, VIEWS * bytes);
    void *scratch = aligned_alloc(64, (v->scratch_bytes(p) + 63) / 64 * 64);
    float *volume = malloc((size_t)SIZE * SIZE * SIZE * sizeof(float));
    for (size_t i = 0; i < VIEWS; i++)
        v->pack(p, i, window, l->images + i * ROWS * COLUMNS, COLUMNS, packed + i * bytes);
    const qb__bp_cone_brick all = {0, SIZE, 0, SIZE, 0, SIZE};
    v->run(p, 0, VIEWS, packed, window, all, volume, SIZE * SIZE, SIZE, false, scratch);
    free(packed);
    free(scratch);
    return volume;
}

static void kernels_reach_the_reference(void **state) {
    (void)state;
    static loaded l;
    load(path, &l);
    assert_true(l.set.original && l.set.reference == SIZE);
    const size_t voxels = (size_t)SIZE * SIZE * SIZE;
    uint16_t *want = malloc(voxels * sizeof *want);
    assert_ok(qb__rabbitct_reference(&l.set, SIZE, want));
    assert_status(qb__rabbitct_reference(&l.set, 256, want), QB_NOT_FOUND);
    size_t count;
    const qb__bp_cone_variant *v = qb__bp_cone_variants(&count);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(v[i].id, "_matrix")) continue;
        if ((qb__cpu_features() & v[i].features) != v[i].features) continue;
        float *volume = reconstruct(&l, v + i);
        double error2 = 0;
        for (size_t k = 0; k < voxels; k++) {
            double error = qb__rabbitct_hu(l.set.hu, (double)volume[k]) - want[k];
            error2 += error * error;
        }
        double rms = sqrt(error2 / (double)voxels);
        printf("%s: %.3f HU rms\n", v[i].id, rms);
        assert_true(rms < 0.1);
        free(volume);
    }
    free(want);
    unload(&l);
}

/* In the head's middle: 0.2 of the skull's 2000 HU. */
static void the_head_comes_back(void **state) {
    (void)state;
    qb__rabbitct set;
    assert_ok(qb__rabbitct_open(path, &set));
    uint16_t *got = malloc((size_t)SIZE * SIZE * SIZE * sizeof *got);
    assert_ok(qb__rabbitct_reference(&set, SIZE, got));
    double sum = 0;
    size_t n = 0;
    for (size_t z = 62; z < 66; z++)
        for (size_t y = 62; y < 66; y++)
            for (size_t x = 62; x < 66; x++, n++) sum += got[(z * SIZE + y) * SIZE + x];
    assert_close(sum / (double)n, 400, 20);
    free(got);
    qb__rabbitct_close(&set);
}

static void copy(size_t skip, size_t bytes) {
    FILE *from = fopen(path, "rb"), *to = fopen(other, "wb");
    char *all = malloc(bytes);
    assert_true(fseek(from, (long)skip, SEEK_SET) == 0 && fread(all, 1, bytes, from) == bytes);
    assert_true(fwrite(all, 1, bytes, to) == bytes);
    fclose(from);
    fclose(to);
    free(all);
}

enum { VIEW = 96 + 4 * COLUMNS * ROWS };

/* The newer layout is the original one without version and references. */
static void the_newer_layout_reads_alike(void **state) {
    (void)state;
    copy(4, 20 + (size_t)VIEWS * VIEW);
    static loaded a, b;
    load(path, &a);
    load(other, &b);
    assert_true(!b.set.original && b.set.reference == 0);
    assert_memory_equal(a.matrix, b.matrix, sizeof a.matrix);
    assert_memory_equal(a.images, b.images, (size_t)VIEWS * ROWS * COLUMNS * sizeof(float));
    unload(&a);
    unload(&b);
}

static void truncated_files_are_refused(void **state) {
    (void)state;
    static const size_t ends[] = {
        0, 3, 19, 20, 24, 1000, 24 + (size_t)VIEWS * VIEW - 1, 24 + (size_t)VIEWS * VIEW + 7};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        qb__rabbitct set;
        copy(0, ends[i]);
        assert_status(qb__rabbitct_open(other, &set), QB_BAD_INPUT);
        qb__rabbitct_close(&set);
    }
    qb__rabbitct set;
    copy(0, 24 + (size_t)VIEWS * VIEW);
    assert_ok(qb__rabbitct_open(other, &set));
    double matrix[12];
    assert_true(set.reference == 0);
    assert_status(qb__rabbitct_view(&set, VIEWS, matrix, NULL), QB_BAD_ARGUMENT);
    qb__rabbitct_close(&set);
    assert_status(qb__rabbitct_open("/no/such/file.rct", &set), QB_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_reach_the_reference),
                                       cmocka_unit_test(the_head_comes_back),
                                       cmocka_unit_test(the_newer_layout_reads_alike),
                                       cmocka_unit_test(truncated_files_are_refused)};
    return cmocka_run_group_tests(tests, make, clean);
}
