/* SPDX-License-Identifier: MIT */
/* The model of the iFDK paper against the paper's own numbers (section 5.3.3), and the rule for its grid. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "planner/cluster.h"
#include "quickbeam/quickbeam.h"

#define GIB 0x1p30

/* The rates that the paper measured on its machine. The rate within a column (allgather) is invented. */
static const qb__cluster paper = {.read = 64 * GIB,
                                  .write = 28.5 * GIB,
                                  .filter = 1e9,
                                  .allgather = 2 * GIB,
                                  .link = 11.9 * GIB,
                                  .links = 2,
                                  .backproject = 200 * GIB,
                                  .transpose = 8 * GIB / 0.29,
                                  .reduce = 8 * GIB / 2.7,
                                  .memory = 16 * GIB};
static const qb__cluster_problem large = {2048, 2048, 4096, 4096, 4096, 4096};

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* Sub-volumes of 8 GiB fit GPUs of 16 GiB: 32 rows for 4096^3, 256 rows for 8192^3. Fewer rows do not fit, and 48 ranks
 * divide differently. */
static void test_rows(void **state) {
    (void)state;
    qb__cluster_problem larger = large;
    larger.nx = larger.ny = larger.nz = 8192;
    assert_int_equal(qb__cluster_rows(&paper, &large, 256), 32);
    assert_int_equal(qb__cluster_rows(&paper, &large, 32), 32);
    assert_int_equal(qb__cluster_rows(&paper, &large, 16), 0);
    assert_int_equal(qb__cluster_rows(&paper, &large, 48), 24); /* 10.7 GiB each */
    assert_int_equal(qb__cluster_rows(&paper, &large, 37), 37);
    assert_int_equal(qb__cluster_rows(&paper, &larger, 2048), 256);
    qb__cluster tight = paper; /* the batch of views needs memory too */
    tight.memory = 8 * GIB;
    assert_int_equal(qb__cluster_rows(&tight, &large, 64), 64);
    tight.memory = 8.5 * GIB;
    assert_int_equal(qb__cluster_rows(&tight, &large, 64), 32);
}

static void test_terms(void **state) {
    (void)state;
    const qb__cluster_grid grid = {32, 8, 4};
    const qb__cluster_terms t = qb__cluster_predict(&paper, &large, &grid);
    assert_true(near(t.read, 1));
    assert_true(near(t.filter, 0x1p34 / 64 / 1e9));               /* 64 nodes filter */
    assert_true(near(t.allgather, 4));                            /* 64 GiB shared by 8 columns */
    assert_true(near(t.to_device, 4 * 8 / 23.8));                 /* four GPUs share two links */
    assert_true(near(t.backproject, t.to_device + 1024 / 200.0)); /* 2^31 voxels and 512 views per GPU */
    assert_true(t.compute == t.backproject);
    assert_true(near(t.transpose, 0.29));
    assert_true(near(t.from_device, 32 / 23.8));
    assert_true(near(t.reduce, 2.7));
    assert_true(near(t.write, 256 / 28.5)); /* the paper says "9.0 s" */
    assert_true(near(t.post, t.transpose + t.from_device + t.reduce + t.write));
    assert_true(near(t.runtime, t.compute + t.post));
    const qb__cluster_terms alone = qb__cluster_predict(&paper, &large, &(qb__cluster_grid){32, 1, 4});
    assert_true(alone.reduce == 0 && near(alone.allgather, 32));
    qb__cluster slow = paper, bare = paper; /* the slowest part decides; a part whose rate is 0 takes no time */
    slow.read = GIB;
    assert_true(near(qb__cluster_predict(&slow, &large, &grid).compute, 64));
    bare.link = bare.links = bare.transpose = 0;
    const qb__cluster_terms cpu = qb__cluster_predict(&bare, &large, &grid);
    assert_true(cpu.to_device == 0 && cpu.from_device == 0 && cpu.transpose == 0);
    assert_true(qb__cluster_predict(&paper, &large, &(qb__cluster_grid){1, 8, 4}).allgather == 0);
}

static double number(const cJSON *from, const char *name) { return cJSON_GetObjectItem(from, name)->valuedouble; }

static void test_scaling(void **state) {
    (void)state;
    cJSON *strong = qb__cluster_scale(&paper, &large, 0, 4, 256, false),
          *weak = qb__cluster_scale(&paper, &large, 0, 4, 256, true);
    const cJSON *step;
    double before = INFINITY, ranks = 32;
    assert_int_equal(cJSON_GetArraySize(strong), 7); /* 32, 64, ... 2048 ranks */
    assert_int_equal(cJSON_GetArraySize(weak), 7);
    cJSON_ArrayForEach(step, strong) {
        assert_true(number(step, "ranks") == ranks && number(step, "views") == 4096);
        assert_true(number(step, "runtime_seconds") < before);
        before = number(step, "runtime_seconds"), ranks *= 2;
    }
    cJSON_ArrayForEach(step, weak) assert_true(number(step, "views") == 16 * number(step, "ranks"));
    assert_true(number(cJSON_GetArrayItem(strong, 0), "efficiency") == 1);
    assert_true(number(cJSON_GetArrayItem(strong, 6), "efficiency") < 0.1); /* writing takes as long as before */
    cJSON_Delete(strong);
    cJSON_Delete(weak);
}

static qb_status read_text(const char *text) {
    char path[] = "/tmp/quickbeam-cluster-XXXXXX";
    qb__cluster found;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
    const qb_status status = qb__cluster_read(path, &found);
    unlink(path);
    if (status == QB_OK) assert_true(found.read == 1 && found.memory == 7 && found.links == 2);
    return status;
}

#define SIX                                                                                                            \
    "\"read_bytes_per_second\": 1, \"write_bytes_per_second\": 2, \"filter_values_per_second\": 3, "                   \
    "\"allgather_bytes_per_second\": 4, \"backproject_updates_per_second\": 5, \"reduce_bytes_per_second\": 6"

static void test_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "no JSON"},
               {"[]", "no \"rates\""},
               {"{\"rates\": {" SIX "}}", "lacks the rate rank_memory_bytes"},
               {"{\"rates\": {" SIX ", \"rank_memory_bytes\": 0}}", "rank_memory_bytes must be"},
               {"{\"rates\": {" SIX ", \"rank_memory_bytes\": \"7\"}}", "rank_memory_bytes must be"},
               {"{\"rates\": {" SIX ", \"rank_memory_bytes\": 1e31}}", "rank_memory_bytes must be"},
               {"{\"rates\": {" SIX ", \"rank_memory_bytes\": 7, \"speed\": 8}}", "no rate speed"},
               {"{\"rates\": {" SIX ", \"rank_memory_bytes\": 7, \"links_per_node\": 2}}", "belong together"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_text(bad[i].text), QB_BAD_INPUT);
        assert_non_null(strstr(qb_detail(), bad[i].says));
    }
    assert_int_equal(read_text("{\"rates\": {" SIX ", \"rank_memory_bytes\": 7, \"links_per_node\": 2, "
                               "\"link_bytes_per_second\": 8, \"transpose_bytes_per_second\": 9}}"),
                     QB_OK);
    qb__cluster found;
    assert_int_equal(qb__cluster_read("/nowhere/at/all", &found), QB_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_terms),
                                       cmocka_unit_test(test_scaling), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
