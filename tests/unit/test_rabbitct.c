/* SPDX-License-Identifier: MIT */
/* Makes a small synthetic data set, reads it back in both layouts, and back-projects it with every bp_cone_matrix
 * variant that runs here. Files with wrong headers are refused. */
#include "check.h"

#include <unistd.h>

#include "base/pool.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/features.h"
#include "io/plain/rabbitct.h"
#include "simulate/rabbitct_synthetic.h"

enum { VIEWS = 60, COLUMNS = 312, ROWS = 240, SIZE = 128 };

static char folder[] = "/tmp/qb_rabbitct_XXXXXX", path[64], other[64], newer[64];

static qb_status synthesize(const char *to, const qb__rabbitct_synthetic *what) {
    qb__pool *pool;
    qb_status status = qb__pool_create(0, &pool);
    if (status == QB_OK) status = qb__rabbitct_synthesize(to, what, pool, NULL);
    qb__pool_destroy(pool);
    return status;
}

static int make(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.rct", folder);
    snprintf(other, sizeof other, "%s/b.rct", folder);
    snprintf(newer, sizeof newer, "%s/newer", folder);
    const qb__rabbitct_synthetic what = {COLUMNS, ROWS, VIEWS, SIZE, false};
    return synthesize(path, &what) != QB_OK;
}

static int clean(void **state) {
    (void)state;
    static const char *const names[] = {"RabbitInput.rct", "RabbitGeometry.rct", "Reference128.vol"};
    remove(path);
    remove(other);
    for (size_t i = 0; i < 3; i++) {
        char whole[96];
        snprintf(whole, sizeof whole, "%s/%s", newer, names[i]);
        remove(whole);
    }
    rmdir(newer);
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
        for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) l->largest[v] = fmaxf(l->largest[v], fabsf(image[i]));
    }
    l->problem =
        (qb__bp_cone_problem){VIEWS, COLUMNS, ROWS, SIZE, SIZE, SIZE, (const double(*)[12])l->matrix, l->largest};
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
        if (!strstr(v[i].head.id, "_matrix")) continue;
        if ((qb__cpu_features() & v[i].head.features) != v[i].head.features) continue;
        float *volume = reconstruct(&l, v + i);
        double error2 = 0;
        for (size_t k = 0; k < voxels; k++) {
            double error = qb__rabbitct_hu(l.set.hu, (double)volume[k]) - want[k];
            error2 += error * error;
        }
        double rms = sqrt(error2 / (double)voxels);
        printf("%s: %.3f HU rms\n", v[i].head.id, rms);
        assert_true(rms < 0.1);
        free(volume);
    }
    free(want);
    unload(&l);
}

/* The middle of the head has 0.2 of the skull's 2000 HU. */
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

static char *in_newer(const char *name) {
    static char whole[96];
    snprintf(whole, sizeof whole, "%s/%s", newer, name);
    return whole;
}

/* The folder that the generator writes in the newer layout. Views, matrices and reference are those of the original
 * layout. */
static void the_newer_layout_is_written(void **state) {
    (void)state;
    const qb__rabbitct_synthetic what = {COLUMNS, ROWS, VIEWS, SIZE, true};
    assert_ok(synthesize(newer, &what));
    static loaded a, b;
    load(path, &a);
    load(in_newer("RabbitInput.rct"), &b);
    assert_false(b.set.original);
    assert_memory_equal(a.matrix, b.matrix, sizeof a.matrix);
    assert_memory_equal(a.images, b.images, (size_t)VIEWS * ROWS * COLUMNS * sizeof(float));
    const size_t voxels = (size_t)SIZE * SIZE * SIZE;
    uint16_t *one = malloc(voxels * sizeof *one), *two = malloc(voxels * sizeof *two);
    assert_ok(qb__rabbitct_reference(&a.set, SIZE, one));
    assert_ok(qb__rabbitct_reference(&b.set, SIZE, two));
    assert_memory_equal(one, two, voxels * sizeof *one);
    assert_status(qb__rabbitct_reference(&b.set, 256, two), QB_NOT_FOUND);
    assert_status(qb__rabbitct_volume(in_newer("Reference128.vol"), 256, two), QB_BAD_INPUT);

    FILE *file = fopen(in_newer("RabbitGeometry.rct"), "rb");
    unsigned char head[20], input[20];
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    for (size_t v = 0; v < VIEWS; v++) {
        double world[12], matrix[12];
        assert_int_equal(fread(world, sizeof *world, 12, file), 12);
        qb__rabbitct_matrix(world, SIZE, matrix);
        assert_memory_equal(matrix, b.matrix[v], sizeof matrix);
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    file = fopen(in_newer("RabbitInput.rct"), "rb");
    assert_int_equal(fread(input, 1, sizeof input, file), sizeof input);
    fclose(file);
    assert_memory_equal(head, input, sizeof head);

    qb__rabbitct set;
    assert_status(qb__rabbitct_open(in_newer("RabbitGeometry.rct"), &set), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "60 matrices"));
    free(one);
    free(two);
    unload(&a);
    unload(&b);
}

static void bad_requests_leave_nothing(void **state) {
    (void)state;
    char bad[96];
    snprintf(bad, sizeof bad, "%s/bad", folder);
    const qb__rabbitct_synthetic wrong[] = {{0, ROWS, VIEWS, 0, true}, {COLUMNS, ROWS, VIEWS, 200, true}};
    for (size_t i = 0; i < 2; i++) assert_status(synthesize(bad, &wrong[i]), QB_BAD_ARGUMENT);
    assert_int_not_equal(access(bad, F_OK), 0);
    const qb__rabbitct_synthetic good = {COLUMNS, ROWS, 1, 0, false};
    assert_status(synthesize("/no/such/folder/a.rct", &good), QB_NOT_FOUND);
}

static void expect_refusal(const char *words) {
    qb__rabbitct set;
    assert_status(qb__rabbitct_open(other, &set), QB_BAD_INPUT);
    qb__rabbitct_close(&set);
    if (!strstr(qb_detail(), words)) fail_msg("no \"%s\" in: %s", words, qb_detail());
}

static void truncated_files_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t end;
        const char *words;
    } cuts[] = {{0, "0 bytes"},
                {3, "3 bytes"},
                {19, "19 bytes"},
                {20, "20 bytes"},
                {24, "cut short in view 0"},
                {1000, "there are 1000"},
                {24 + (size_t)VIEWS * VIEW - 1, "cut short in view 59"},
                {24 + (size_t)VIEWS * VIEW + 7, "7 bytes follow the last of 60 views"}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        copy(0, cuts[i].end);
        expect_refusal(cuts[i].words);
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

static void change(size_t at, const void *bytes, size_t count) {
    FILE *file = fopen(other, "r+b");
    assert_true(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(bytes, 1, count, file) == count);
    fclose(file);
}

static void absurd_headers_are_refused(void **state) {
    (void)state;
    const uint32_t none = 0, huge = 4000000000u, three = 3;
    const float nan = NAN, zero = 0;
    const struct {
        size_t at;
        const void *value;
        const char *words;
    } faults[] = {{4, &none, "0 columns"},
                  {8, &huge, "4000000000 rows"},
                  {12, &none, "0 views"},
                  {12, &huge, "4000000000 views"},
                  {12, &three, "follow the last of 3 views"},
                  {16, &nan, "HU scale is nan"},
                  {16, &zero, "HU scale is 0"},
                  {20, &nan, "HU scale"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        copy(0, 24 + (size_t)VIEWS * VIEW);
        change(faults[i].at, faults[i].value, 4);
        expect_refusal(faults[i].words);
    }
    /* An infinite number in a matrix is found when the view is read. */
    const double infinite = INFINITY;
    double matrix[12];
    qb__rabbitct set;
    copy(0, 24 + (size_t)VIEWS * VIEW);
    change(24 + 5 * (size_t)VIEW, &infinite, sizeof infinite);
    assert_ok(qb__rabbitct_open(other, &set));
    assert_ok(qb__rabbitct_view(&set, 4, matrix, NULL));
    assert_status(qb__rabbitct_view(&set, 5, matrix, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "view 5"));
    qb__rabbitct_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_reach_the_reference),  cmocka_unit_test(the_head_comes_back),
        cmocka_unit_test(the_newer_layout_reads_alike), cmocka_unit_test(the_newer_layout_is_written),
        cmocka_unit_test(bad_requests_leave_nothing),   cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(absurd_headers_are_refused)};
    return cmocka_run_group_tests(tests, make, clean);
}
