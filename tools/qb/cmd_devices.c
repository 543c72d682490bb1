/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

static void print_cpu(const cJSON *device) {
    printf("%s: %s, %.0f thread%s\n", text(device, "device"), text(device, "name"), number(device, "threads"),
           plural(number(device, "threads")));
    printf("  caches %.0f KiB and %.0f KiB a core, %.1f GiB of memory free, copy %.1f GB/s\n",
           number(device, "l1_bytes") / 1024, number(device, "l2_bytes") / 1024,
           number(device, "memory_available_bytes") / 1073741824.0, number(device, "copy_gigabytes_per_second"));
    const cJSON *row;
    printf("  kernels (listed giga-updates/s of one core)\n");
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(device, "kernels")) {
        printf("    %-34s %-7s %6.1f  %s\n", text(row, "id"), text(row, "accuracy"),
               number(row, "listed_giga_updates_per_second_per_core"),
               cJSON_IsTrue(cJSON_GetObjectItem(row, "runs_here")) ? "" : "not on this CPU");
    }
}

/* Lists all device kernels. Which kernels a device here cannot run is printed with that device. */
static void print_device_kernels(const cJSON *root) {
    const cJSON *row;
    printf("kernels of devices (--device cuda or opencl), and what they need\n");
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(root, "device_kernels")) {
        printf("    %-40s %-7s %s\n", text(row, "id"), text(row, "accuracy"), text(row, "needs"));
    }
}

static void print_not_here(const cJSON *device) {
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(device, "kernels")) {
        if (!cJSON_IsTrue(cJSON_GetObjectItem(row, "runs_here")))
            printf("  not here: %s (%s)\n", text(row, "id"), text(row, "why_not"));
    }
}

static void print_device(const cJSON *device) {
    static const struct {
        const char *label, *name, *unit;
    } rates[] = {
        {"copy (read + write)", "copy_gigabytes_per_second", "GB/s"},
        {"host to device", "upload_gigabytes_per_second", "GB/s"},
        {"device to host", "download_gigabytes_per_second", "GB/s"},
        {"shared cache, reads", "cache_gigabytes_per_second", "GB/s"},
        {"shared memory, reads", "shared_memory_gigabytes_per_second", "GB/s"},
        {"fp32 multiply-adds", "giga_fma_per_second", "G/s"},
        {"bilinear texture reads", "gigatexels_per_second", "G/s"},
        {"tensor cores, fp16", "tensor_teraflops", "TFLOP/s"},
    };
    printf("%s: %s (%s), %.0f multiprocessors, %.1f of %.1f GiB free\n", text(device, "device"), text(device, "name"),
           text(device, "driver"), number(device, "multiprocessors"),
           number(device, "memory_available_bytes") / 1073741824.0, number(device, "memory_bytes") / 1073741824.0);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        double rate = number(device, rates[i].name);
        if (rate > 0) printf("  %-24s %10.*f %s\n", rates[i].label, rate < 10 ? 2 : 0, rate, rates[i].unit);
    }
    print_not_here(device);
    if (*text(device, "problem")) printf("  problem: %s\n", text(device, "problem"));
}

qb_status cmd_devices(cli *c) {
    char *json;
    qb_status status = qb_devices_describe(&c->env, &json);
    if (status != QB_OK) return status;
    if (c->options.run.json) {
        status = give_result(c, strdup(json));
    } else {
        cJSON *root = cJSON_Parse(json);
        const cJSON *device;
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(root, "devices")) {
            if (!strcmp(text(device, "device"), "cpu"))
                print_cpu(device);
            else
                print_device(device);
        }
        print_device_kernels(root);
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(root, "missing")) { printf("%s\n", device->valuestring); }
        cJSON_Delete(root);
        printf("file formats\n");
        for (size_t i = 0; i < qb_format_count(); i++) printf("  %s\n", qb_format_line(i));
    }
    qb_text_free(json);
    return status;
}
