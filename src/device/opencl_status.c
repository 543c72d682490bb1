/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "device/opencl_api.h"

/* Meaning of OpenCL's results. */

/* Names and meanings of errors that differ in their status. NVIDIA reports a kernel's crash as -5, -36 or -9999 at the
 * next finish. */
static const struct {
    qb__cl_result code;
    qb_status status;
    bool lasting;
    const char *name;
} errors[] = {
    {-2, QB_NO_DEVICE, true, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, QB_NO_DEVICE, false, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, QB_NO_MEMORY, false, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-6, QB_NO_MEMORY, false, "CL_OUT_OF_HOST_MEMORY"},
    {-10, QB_UNSUPPORTED, false, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, QB_INTERNAL, false, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, QB_NO_DEVICE, true, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, QB_INTERNAL, false, "CL_INVALID_VALUE"},
    {-36, QB_NO_DEVICE, true, "CL_INVALID_COMMAND_QUEUE"},
    {-40, QB_BAD_ARGUMENT, false, "CL_INVALID_IMAGE_SIZE"},
    {-51, QB_INTERNAL, false, "CL_INVALID_ARG_SIZE"},
    {-52, QB_INTERNAL, false, "CL_INVALID_KERNEL_ARGS"},
    {-54, QB_BAD_ARGUMENT, false, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, QB_BAD_ARGUMENT, false, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, QB_NO_MEMORY, false, "CL_INVALID_BUFFER_SIZE"},
    {-9999, QB_NO_DEVICE, true, "an illegal access in a kernel"},
};
static const struct {
    qb_status status;
    bool lasting;
} out_of_resources[] = {
    [QB__CL_ALLOCATES] = {QB_NO_MEMORY, false},
    [QB__CL_LAUNCHES] = {QB_UNSUPPORTED, false},
    [QB__CL_RUNS] = {QB_NO_DEVICE, true},
};

/* Once the device is lost, drivers return "out of resources" for every call: then the device's own queue, where nothing
 * can fail, fails too. */
static bool is_gone(const qb__device *device) {
    return device->open.service && qb__opencl.finish(device->open.service);
}

qb_status qb__opencl_status(qb__device *device, qb__cl_result result, qb__cl_call call, const char *doing) {
    if (!result) return QB_OK;
    const char *name = "OpenCL error";
    qb_status status = QB_INTERNAL;
    bool lasting = false;
    if (result == -5) {
        if (is_gone(device)) call = QB__CL_RUNS;
        name = "CL_OUT_OF_RESOURCES";
        status = out_of_resources[call].status;
        lasting = out_of_resources[call].lasting;
    }
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code != result) continue;
        name = errors[i].name;
        status = errors[i].status;
        lasting = errors[i].lasting;
    }
    if (!lasting) { return qb__fail(status, "%s: %s: %s (%d)", device->info.spec, doing, name, result); }
    char why[256];
    snprintf(why, sizeof why, "%s: %s (%d)", doing, name, result);
    return qb__device_lose(device, why);
}
