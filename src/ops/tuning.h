/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_TUNING_H
#define QB_OPS_TUNING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "kernels/bp_parallel_device.h"

/* What `qb tune` measured: per device, variant and shape class, the best parameters and their
 * speed. One JSON file of the user (QB_TUNING, else XDG_CONFIG_HOME/quickbeam/tuning.json, else
 * ~/.config/quickbeam/tuning.json), in front of what is shipped. Like FFTW's wisdom it is read when
 * asked and changed only by qb tune. */
typedef struct qb__tuning_key {
    const char *device;     /* its name */
    const char *variant;    /* "bp_parallel_linear.alu" */
    size_t slices, columns; /* classes: rounded up to a power of two, slices at most 128 */
} qb__tuning_key;

enum { QB__TUNING_VALUES = QB__PARAMETERS_MAX};

typedef struct qb__tuning_entry {
    int values[QB__TUNING_VALUES];
    double giga_updates; /* a second */
} qb__tuning_entry;

/* The entry of the same device and variant whose shape class is closest (slices first): the file's,
 * else what is shipped. A speed of 0 is not known. False when there is none. */
bool qb__tuning_find(const qb__tuning_key *key, qb__tuning_entry *entry);
/* The card that stands for this device's architecture, as `device` of a key: its parameters are a
 * good guess. NULL where our own defaults, the first values, are as good. */
const char *qb__tuning_paper_card(const qb__device_info *device);
/* Adds or replaces; the file changes as a whole. */
qb_status qb__tuning_store(const qb__tuning_key *key, const qb__tuning_entry *entry);
/* The user's file; empty when there is no home. */
const char *qb__tuning_path(void);

#endif
