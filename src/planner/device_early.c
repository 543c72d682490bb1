/* SPDX-License-Identifier: MIT */
#include "planner/device_early.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "planner/device_select.h"

static char wanted[32];
static pthread_t thread;
static bool running;

static void *open_device(void *unused) {
    qb__device *device;
    (void)unused;
    qb__device_open(wanted, &device); /* never closed */
    return NULL;
}

void qb_tool_device_early(const qb_env *env, bool sure) {
    const char *spec = qb__device_is_named(env) ? env->device : sure ? "cuda" : "cpu";
    if (running || qb__comm_of(env) || strncmp(spec, "cuda", 4) != 0 || strlen(spec) >= sizeof wanted ||
        strstr(spec, ":all"))
        return;
    snprintf(wanted, sizeof wanted, "%s", spec);
    running = pthread_create(&thread, NULL, open_device, NULL) == 0;
}

void qb_tool_device_settle(void) {
    if (running) pthread_join(thread, NULL);
    running = false;
}
