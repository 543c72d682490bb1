/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "device/device.h"
#include "planner/tuning_file.h"

/* Results of `qb tune`: per device, variant and shape class, the best parameters and their speed. The user's JSON file
 * (QB_TUNING, else XDG_CONFIG_HOME/quickbeam/tuning.json, else ~/.config/quickbeam/tuning.json) takes precedence over
 * the results that are built in. It is read when needed and changed only by qb tune. */

/* True if parameters are legal; rows of the file may hold anything, and only legal ones count. */
typedef struct qb__tuning_test {
    bool (*test)(const void *context, const int *values);
    const void *context;
} qb__tuning_test;

/* The entry of the same device and variant with the closest shape class (slices first): from the file, else built in. A
 * speed of 0 is unknown. False if there is none. `serves` may be NULL. */
bool qb__tuning_find(const qb__tuning_key *key, const qb__tuning_test *serves, qb__tuning_entry *entry);
/* Name of a device (NULL: this CPU) in the tuning file, which includes the API, because a chip behaves differently
 * through OpenCL. */
enum { QB__TUNING_NAME = 160 };
const char *qb__tuning_device(const qb__device_info *device, char *name, size_t size);
/* A card of the same architecture, as `device` of a key, whose parameters are a good guess. NULL if the default values
 * are as good. */
const char *qb__tuning_paper_card(const qb__device_info *device);
/* Add or replace an entry; the file is replaced as a whole. QB_BAD_INPUT if the existing file is invalid; it is not
 * changed. */
qb_status qb__tuning_store(const qb__tuning_key *key, const qb__tuning_entry *entry, const qb_env *env);
/* Check that qb__tuning_store would succeed, before anything is measured. */
qb_status qb__tuning_check(void);
/* Warn once if the file exists but cannot be used. */
void qb__tuning_warn(const qb_env *env);
