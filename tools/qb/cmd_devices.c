/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <string.h>

#include "cli.h"

static double number(const cJSON *object, const char *name) {
    return cJSON_GetObjectItem(object, name)->valuedouble;
}

static void print_device(const cJSON *device) {
    printf("%s: %s, %.0f threads\n", cJSON_GetObjectItem(device, "device")->valuestring,
           cJSON_GetObjectItem(device, "name")->valuestring, number(device, "threads"));
    printf("  caches %.0f KiB and %.0f KiB a core, %.1f GiB of memory free, copy %.1f GB/s\n",
           number(device, "l1_bytes") / 1024, number(device, "l2_bytes") / 1024,
           number(device, "memory_available_bytes") / 1073741824.0,
           number(device, "copy_gigabytes_per_second"));
    const cJSON *row;
    printf("  kernels (listed giga-updates/s of one core)\n");
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(device, "kernels")) {
        printf("    %-34s %-7s %6.1f  %s\n", cJSON_GetObjectItem(row, "id")->valuestring,
               cJSON_GetObjectItem(row, "accuracy")->valuestring,
               number(row, "listed_giga_updates_per_second_per_core"),
               cJSON_IsTrue(cJSON_GetObjectItem(row, "runs_here")) ? "" : "not on this CPU");
    }
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
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(root, "devices")) print_device(device);
        cJSON_Delete(root);
        printf("file formats\n");
        for (size_t i = 0; i < qb_format_count(); i++) printf("  %s\n", qb_format_line(i));
    }
    qb_text_free(json);
    return status;
}
