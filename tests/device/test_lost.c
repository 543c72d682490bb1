/* SPDX-License-Identifier: MIT */
/* A kernel on a real GPU writes outside its memory. The device is then lost with a clear message, and the program goes
 * on. Each run tests one device, since nothing else can be done with it: test_lost [SPEC]. Without a CUDA device the
 * shim makes an OpenCL device fail when that kernel is launched. The exit code is 77 where there is neither. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "mock/mock_library.h"

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("not so: %s (%s)\n", #condition, qb_detail());                                                      \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static int lose(const char *spec) {
    qb__device *device;
    qb__queue *queue;
    qb__memory *memory, *more;
    qb__program *program;
    qb__kernel *kernel;
    const size_t one[3] = {1, 1, 1};
    uint64_t far_away = (uint64_t)1 << 44;
    EXPECT(qb__device_open(spec, &device) == QB_OK);
    EXPECT(qb__queue_create(device, &queue) == QB_OK);
    EXPECT(qb__memory_create(device, 1 << 20, &memory) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_OK);
    EXPECT(qb__kernel_get(program, "probe_crash", &kernel) == QB_OK);
    const qb__arg args[] = {QB__MEMORY(memory), QB__VALUE(far_away)};
    qb_status status = qb__kernel_launch(kernel, queue, one, one, args, 2);
    if (status == QB_OK) status = qb__queue_finish(queue);
    EXPECT(status == QB_NO_DEVICE);
    printf("%s\n", qb_detail());
    EXPECT(strstr(qb_detail(), "was lost") && strstr(qb_detail(), "--device cpu"));
    EXPECT(qb__memory_create(device, 1 << 20, &more) == QB_NO_DEVICE);
    EXPECT(qb__memory_fill(queue, memory, 0, 0, 16) == QB_NO_DEVICE);
    EXPECT(qb__queue_finish(queue) == QB_NO_DEVICE);
    qb__program_release(program);
    qb__memory_destroy(memory);
    qb__queue_destroy(queue);
    qb__device_close(device);
    return 0;
}

/* Runs the program again, since a process opens the loader only once. Memory of a GPU is accessed by a command. */
static int lose_through_shim(const qb__device_info *info, char **argv) {
    char *const again[] = {argv[0], (char *)info->spec, NULL};
    setenv("QB_LIBOPENCL", shim_opencl_path(), 1);
    setenv("SHIM_LOSE_AFTER", info->is_cpu ? "0" : "1", 1);
    execv("/proc/self/exe", again);
    perror("starting again");
    return 1;
}

int main(int argc, char **argv) {
    const qb__device_info *list;
    size_t count;
    if (argc > 1) return lose(argv[1]);
    if (qb__device_list(&list, &count) != QB_OK) return 1;
    for (size_t i = 0; i < count; i++) {
        if (list[i].api == QB__API_CUDA) return lose(list[i].spec);
    }
    if (count > 0) return lose_through_shim(&list[0], argv);
    printf("not run: %s\n", qb__device_missing(QB__API_CUDA));
    return 77;
}
