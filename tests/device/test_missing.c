/* SPDX-License-Identifier: MIT */
/* The mock driver lacks something or is too old. The tests check the messages, and which code is made for which
 * chip. */
#include "child.h"

#include "device/device.h"
#include "quickbeam/device.h"

static size_t cuda_devices(void) {
    const qb__device_info *list;
    size_t count = 0;
    if (qb__device_list(&list, &count) != QB_OK) return 99;
    return count;
}

/* ---- what is missing, and the messages ---- */

static const char *left_out(mock_cuda_state *mock) {
    (void)mock;
    qb__device *device;
    setenv("QB_LIBCUDA", "", 1);
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "QB_LIBCUDA");
    EXPECT_SAYS(qb__device_missing(QB__API_OPENCL), "QB_LIBOPENCL");
    EXPECT(qb__device_open("cuda", &device) == QB_NO_DEVICE && !device);
    EXPECT_SAYS(qb_detail(), "QB_LIBCUDA");
    EXPECT(qb__device_open("cuda:x", &device) == QB_BAD_ARGUMENT);
    EXPECT(qb__device_open("cudas", &device) == QB_BAD_ARGUMENT);
    EXPECT(qb__device_open("vulkan", &device) == QB_BAD_ARGUMENT);
    return NULL;
}

static const char *no_driver(mock_cuda_state *mock) {
    (void)mock;
    setenv("QB_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "/nowhere/libcuda.so.1");
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "nvidia-driver");
    return NULL;
}

static const char *not_a_driver(mock_cuda_state *mock) {
    (void)mock;
    setenv("QB_LIBCUDA", "libm.so.6", 1);
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "lacks cuInit");
    return NULL;
}

static const char *old_driver(mock_cuda_state *mock) {
    mock->driver = 10020;
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "CUDA 10.2; 11.2 or newer");
    return NULL;
}

static const char *no_device(mock_cuda_state *mock) {
    mock->devices = 0;
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "sees no device");
    return NULL;
}

static const char *mismatched_driver(mock_cuda_state *mock) {
    mock->fail_name = "cuInit";
    mock->fail_with = 803;
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "803");
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "restart the machine");
    return NULL;
}

static const char *too_few(mock_cuda_state *mock) {
    qb__device *device;
    mock->devices = 2;
    EXPECT(cuda_devices() == 2);
    EXPECT(qb__device_open("cuda:2", &device) == QB_NO_DEVICE);
    EXPECT_SAYS(qb_detail(), "there are 2");
    EXPECT(qb__device_open("cuda:1", &device) == QB_OK);
    EXPECT(!strcmp(qb__device_info_of(device)->name, "Mock 1"));
    qb__device_close(device);
    EXPECT(mock->contexts == 0);
    return NULL;
}

/* A device that cannot compile is listed. It gives the reason when a program is built. */
static const char *cannot_compile(const char *words) {
    qb__device *device;
    qb__program *program;
    EXPECT(cuda_devices() == 1);
    if (!strstr(qb__device_missing(QB__API_CUDA), words)) return qb__device_missing(QB__API_CUDA);
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_NO_DEVICE);
    EXPECT(!program);
    if (!strstr(qb_detail(), words)) return qb_detail();
    qb__device_close(device);
    return NULL;
}

static const char *driver_older_than_nvrtc(mock_cuda_state *mock) {
    mock->driver = 12040;
    return cannot_compile("NVRTC 13.0 is newer than the driver, which is for CUDA 12.4");
}

static const char *no_nvrtc(mock_cuda_state *mock) {
    (void)mock;
    setenv("QB_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
    return cannot_compile("nvidia-cuda-nvrtc");
}

/* The program states where the libraries are. */
static const char *paths_by_call(mock_cuda_state *mock) {
    (void)mock;
    unsetenv("QB_LIBCUDA");
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, "/nowhere/libcuda.so.1") == QB_OK);
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, mock_cuda_path()) == QB_OK);
    EXPECT(qb_library_path_set((qb_library)(QB_LIBRARY_NCCL + 1), "/tmp") == QB_BAD_ARGUMENT);
    EXPECT(cuda_devices() == 1);
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, NULL) == QB_BAD_ARGUMENT);
    EXPECT_SAYS(qb_detail(), "too late");
    return NULL;
}

static const char *left_out_by_call(mock_cuda_state *mock) {
    (void)mock;
    unsetenv("QB_LIBCUDA");
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, "") == QB_OK);
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "left out");
    return NULL;
}

/* A folder is searched for the usual names. No other folder is searched. */
static const char *folder_by_call(mock_cuda_state *mock) {
    char folder[] = "/tmp/qb-libraries-XXXXXX", name[64];
    (void)mock;
    unsetenv("QB_LIBCUDA");
    EXPECT(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/libcuda.so.1", folder);
    EXPECT(symlink(mock_cuda_path(), name) == 0);
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, folder) == QB_OK);
    size_t found = cuda_devices();
    unlink(name);
    rmdir(folder);
    EXPECT(found == 1);
    return NULL;
}

static const char *empty_folder_by_call(mock_cuda_state *mock) {
    (void)mock;
    unsetenv("QB_LIBCUDA");
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, "/tmp") == QB_OK);
    EXPECT(cuda_devices() == 0);
    EXPECT_SAYS(qb__device_missing(QB__API_CUDA), "in /tmp");
    return NULL;
}

/* The user's environment decides over the call. */
static const char *environment_over_call(mock_cuda_state *mock) {
    (void)mock;
    EXPECT(qb_library_path_set(QB_LIBRARY_CUDA, "/nowhere/libcuda.so.1") == QB_OK);
    EXPECT(cuda_devices() == 1);
    return NULL;
}

/* ---- for which chip ---- */

static const char *option_for(mock_cuda_state *mock, int arch, const char *option) {
    qb__device *device;
    qb__program *program;
    const char *const macros[] = {"A=1", "QB_REGISTERS=64", NULL};
    mock->arch = arch;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", macros, &program) == QB_OK);
    if (strncmp(mock->options, option, strlen(option)) != 0) return mock->options;
    EXPECT_SAYS(mock->options, " -DA=1 --maxrregcount=64 ");
    qb__program_release(program);
    qb__device_close(device);
    EXPECT(mock->modules == 0 && mock->programs == 0 && mock->contexts == 0);
    return NULL;
}

static const char *known_chip(mock_cuda_state *mock) { return option_for(mock, 80, "-arch=sm_80 "); }
static const char *this_very_chip(mock_cuda_state *mock) { return option_for(mock, 90, "-arch=sm_90a "); }
static const char *newer_chip(mock_cuda_state *mock) { return option_for(mock, 130, "-arch=compute_100 "); }
static const char *old_compiler(mock_cuda_state *mock) {
    mock->nvrtc_major = 11; /* this version knows no architecture with "a" */
    return option_for(mock, 90, "-arch=sm_90 ");
}

static const char *treated_as_older(mock_cuda_state *mock) {
    setenv("QB_CUDA_ARCH", "75", 1);
    return option_for(mock, 90, "-arch=compute_75 ");
}

static const char *older_chip(mock_cuda_state *mock) {
    qb__device *device;
    qb__program *program;
    mock->arch = 61;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_UNSUPPORTED);
    EXPECT_SAYS(qb_detail(), "compute capability 6.1");
    qb__device_close(device);
    return NULL;
}

static const char *compiler_complains(mock_cuda_state *mock) {
    qb__device *device;
    qb__program *program;
    mock->nvrtc_fails = 1;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_INTERNAL);
    EXPECT_SAYS(qb_detail(), "the mock does not like this");
    qb__device_close(device);
    EXPECT(mock->programs == 0);
    return NULL;
}

#define SCENARIOS(X)                                                                                                   \
    X(left_out)                                                                                                        \
    X(no_driver)                                                                                                       \
    X(not_a_driver)                                                                                                    \
    X(old_driver)                                                                                                      \
    X(no_device)                                                                                                       \
    X(mismatched_driver)                                                                                               \
    X(too_few)                                                                                                         \
    X(driver_older_than_nvrtc)                                                                                         \
    X(no_nvrtc)                                                                                                        \
    X(paths_by_call)                                                                                                   \
    X(left_out_by_call)                                                                                                \
    X(folder_by_call)                                                                                                  \
    X(empty_folder_by_call)                                                                                            \
    X(environment_over_call)                                                                                           \
    X(known_chip)                                                                                                      \
    X(this_very_chip)                                                                                                  \
    X(newer_chip)                                                                                                      \
    X(old_compiler)                                                                                                    \
    X(treated_as_older)                                                                                                \
    X(older_chip)                                                                                                      \
    X(compiler_complains)
SCENARIOS(SCENARIO)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ROW)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
