/* SPDX-License-Identifier: MIT */
/* Tests that run on every device of the machine, one device after another. */
#ifndef QB_TESTS_ON_DEVICES_H
#define QB_TESTS_ON_DEVICES_H

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "device/device.h"

/* The device under test, one of its queues, and its own stream of random numbers. */
static qb__device *device;
static qb__queue *queue;
static qb__random chance;

/* Calls group(spec) on every device, or only on device `only`. group() returns how many of its tests failed. The result
 * is the exit code of a test: 77 (skipped) where there is no device. */
static int on_devices(const char *only, int (*group)(const char *spec)) {
    const qb__device_info *list;
    size_t count;
    int failed = 0, ran = 0;
    if (qb__device_list(&list, &count) != QB_OK) return 1;
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(only, list[i].spec) != 0) continue;
        printf("%s: %s, %s\n", list[i].spec, list[i].name, list[i].driver);
        chance = qb__random_stream(1, i);
        if (qb__device_open(list[i].spec, &device) != QB_OK || qb__queue_create(device, &queue) != QB_OK) {
            printf("%s\n", qb_detail());
            return 1;
        }
        failed += group(list[i].spec);
        qb__queue_destroy(queue);
        qb__device_close(device);
        ran++;
    }
    return failed ? failed : ran ? 0 : 77;
}

#endif
