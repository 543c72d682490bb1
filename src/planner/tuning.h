/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_TUNING_H
#define QB_PLANNER_TUNING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "device/device.h"
#include "planner/tuning_file.h"
#include "planner/tuning_key.h"
#include "quickbeam/env.h"

/* What `qb tune` measured: per device, variant and shape class, the best parameters and their
 * speed. One JSON file of the user (QB_TUNING, else XDG_CONFIG_HOME/quickbeam/tuning.json, else
 * ~/.config/quickbeam/tuning.json), in front of what is shipped. Like FFTW's wisdom it is read when
 * asked and changed only by qb tune. */

/* Whether parameters serve; of the file's rows, which may hold anything, only these count. */
typedef struct qb__tuning_test {
    bool (*test)(const void *context, const int *values);
    const void *context;
} qb__tuning_test;

/* The entry of the same device and variant whose shape class is closest (slices first): the file's,
 * else what is shipped. A speed of 0 is not known. False when there is none. `serves` may be NULL.
 */
bool qb__tuning_find(const qb__tuning_key *key, const qb__tuning_test *serves, qb__tuning_entry *entry);
/* What a device (NULL: this CPU) is called in the tuning file: the same chip behaves differently through OpenCL. */
enum { QB__TUNING_NAME = 160 };
const char *qb__tuning_device(const qb__device_info *device, char *name, size_t size);
/* The card that stands for this device's architecture, as `device` of a key: its parameters are a
 * good guess. NULL where our own defaults, the first values, are as good. */
const char *qb__tuning_paper_card(const qb__device_info *device);
/* Adds or replaces; the file changes as a whole. QB_BAD_INPUT when what is there cannot be used: it
 * stays as it is. */
qb_status qb__tuning_store(const qb__tuning_key *key, const qb__tuning_entry *entry, const qb_env *env);
/* Whether qb__tuning_store could: asked before anything is measured. */
qb_status qb__tuning_check(void);
/* A planner's one warning of a file that is there but cannot be used. */
void qb__tuning_warn(const qb_env *env);
#endif
