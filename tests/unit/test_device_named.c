/* SPDX-License-Identifier: MIT */
/* A device that the user named computes the job, or the job fails. Engines that decline must not pass the job to the
 * CPU. */
#include "io_files.h"

#include "base/status.h"
#include "device/device.h"
#include "recon/reconstruction.h"

/* ---- a method whose engines all decline, each in its way ---- */

static int asked_cpu, asked_device;

static qb_status no_part(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)plan, (void)env, (void)offer;
    assert_non_null(task->devices);
    assert_true(task->devices->count > 0);
    asked_device++;
    return QB_OK;
}

static qb_status refuse(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)task, (void)plan, (void)env, (void)offer;
    asked_device++;
    return qb__fail(QB_UNSUPPORTED, "it is no job for a device");
}

static qb_status refuse_cpu(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)plan, (void)env, (void)offer;
    assert_null(task->devices);
    asked_cpu++;
    return qb__fail(QB_UNSUPPORTED, "the CPU was asked");
}

static const qb__engine declines = {.on_device = true, .decide = no_part};
static const qb__engine refuses = {.on_device = true, .decide = refuse};
static const qb__engine cpu = {.decide = refuse_cpu};

typedef struct options {
    size_t struct_size;
} options;

static const qb_param params[] = {QB_PARAMS_END(options)};

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision) {
    (void)task, (void)plan, (void)env, (void)json;
    decision->stack = small_stack(QB_F32);
    return QB_OK;
}

static void release(void *plan) { (void)plan; }

/* Plans a job with these engines and --device, and returns the status. */
static qb_status plan_with(const qb__engine *const *engines, const char *device) {
    const qb__method method = {
        .verb = "trial", .params = params, .plan_bytes = 1, .engines = engines, .decide = decide, .release = release};
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("out.npy"));
    const qb_output_options output = {.output = path, .dtype = QB_F32};
    const qb__request request = {.input = "nothing", .output = &output, .command = "trial"};
    const qb_env env = {.device = device, .threads = 1};
    qb_job *job = NULL;
    asked_cpu = asked_device = 0;
    const qb_status status = qb__reconstruction_plan(&method, &request, &env, &job);
    assert_null(job);
    return status;
}

/* ---- with a device that is there ---- */

static const char *spec;

static void test_declined_in_silence(void **state) {
    (void)state;
    const qb__engine *const either_way[2][3] = {{&cpu, &declines, NULL}, {&declines, &cpu, NULL}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plan_with(either_way[i], spec), QB_BAD_ARGUMENT);
        assert_int_equal(asked_device, 1);
        assert_int_equal(asked_cpu, 0);
        assert_non_null(strstr(qb_detail(), spec));
        assert_non_null(strstr(qb_detail(), "does not compute this job on devices"));
    }
}

static void test_declined_with_a_reason(void **state) {
    (void)state;
    const qb__engine *const engines[] = {&cpu, &refuses, NULL};
    assert_int_not_equal(plan_with(engines, spec), QB_OK);
    assert_int_equal(asked_cpu, 0);
    assert_string_equal(qb_detail(), "it is no job for a device");
}

static void test_no_engine_on_devices(void **state) {
    (void)state;
    const qb__engine *const engines[] = {&cpu, NULL};
    assert_int_equal(plan_with(engines, spec), QB_BAD_ARGUMENT);
    assert_int_equal(asked_cpu, 0);
}

/* ---- on any machine ---- */

static void test_not_named(void **state) {
    (void)state;
    static const char *const free[] = {NULL, "auto", "cpu"};
    const qb__engine *const engines[] = {&declines, &cpu, NULL};
    for (size_t i = 0; i < sizeof free / sizeof *free; i++) {
        assert_int_not_equal(plan_with(engines, free[i]), QB_OK);
        assert_true(asked_cpu > 0);
        assert_string_equal(qb_detail(), "the CPU was asked");
    }
}

static void test_not_there(void **state) {
    (void)state;
    const qb__engine *const engines[] = {&cpu, &declines, NULL};
    assert_int_equal(plan_with(engines, "opencl:99"), QB_NO_DEVICE);
    assert_int_equal(asked_cpu + asked_device, 0);
}

int main(void) {
    const struct CMUnitTest any[] = {cmocka_unit_test(test_not_named), cmocka_unit_test(test_not_there)};
    const struct CMUnitTest on_one[] = {cmocka_unit_test(test_declined_in_silence),
                                        cmocka_unit_test(test_declined_with_a_reason),
                                        cmocka_unit_test(test_no_engine_on_devices)};
    const qb__device_info *list;
    size_t count = 0;
    int failed = cmocka_run_group_tests(any, make_folder, drop_folder);
    if (qb__device_list(&list, &count) != QB_OK || count == 0) return failed ? failed : 77;
    spec = list[0].spec;
    return failed + cmocka_run_group_tests(on_one, make_folder, drop_folder);
}
