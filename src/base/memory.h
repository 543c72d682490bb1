/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/status.h"

/* *product = a * b * c; false on overflow. */
bool qb__mul(size_t a, size_t b, size_t c, size_t *product);

/* a / b, rounded up. */
static inline size_t qb__ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

/* The next multiple of step. */
static inline size_t qb__round_up(size_t n, size_t step) { return qb__ceil_div(n, step) * step; }

static inline size_t qb__smaller(size_t a, size_t b) { return a < b ? a : b; }

static inline size_t qb__larger(size_t a, size_t b) { return a > b ? a : b; }

/* count * size bytes, 64-byte aligned and zeroed; pages are taken when they are touched. *out is NULL after a failure
 * (QB_NO_MEMORY) and for zero bytes. Large blocks are returned to the system when they are freed, so that they no
 * longer count for --max-ram. */
qb_status qb__alloc(size_t count, size_t size, void *out);
void qb__free(void *block); /* NULL-safe */

/* Free several blocks. All arguments are read first, so a struct may follow its own members. */
#define QB__FREE(...) qb__free_all(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), (void *[]){__VA_ARGS__})
void qb__free_all(size_t count, void *const blocks[]);

char *qb__strdup(const char *text); /* NULL for NULL and if memory ran out; release with qb__free */

/* Number of failed allocations of this thread. A caller that tolerates failures of optional parts uses it to detect a
 * lack of memory. */
size_t qb__allocations_failed(void);

/* For tests: the n-th allocation from now fails, once; 0 = never. Returns how many allocations the previous setting
 * still had to go: 0 if it has failed. */
size_t qb__fail_allocation(size_t n);

/* Anonymous memory of this process in bytes (VmRSS without mapped file pages); 0 if unknown. */
size_t qb__resident_bytes(void);
/* Bytes that this process can still allocate: the minimum of free memory, the limits of its cgroups (versions 1 and 2)
 * and the limits of ulimit for addresses and data. */
size_t qb__available_bytes(void);
/* As qb__available_bytes; *from names the limit that decides. */
size_t qb__available_from(const char **from);
/* What the limit of the cgroup in that folder leaves; SIZE_MAX without a limit. Inactive file pages count in
 * memory.current but can be dropped, so they count as free: otherwise a scan that was just read or written would count
 * as used memory. */
size_t qb__cgroup_room(const char *folder);
/* The minimum of qb__cgroup_room over all groups in `list`, which has the form of /proc/self/cgroup, below `mount`. */
size_t qb__cgroups_room(const char *list, const char *mount);

/* Bytes this process may hold: env's max_ram, or 3/4 of the free memory. */
size_t qb__memory_cap(const qb_env *env);
/* QB_BAD_ARGUMENT for a memory limit that is too small: "--max-ram of 3.0 MiB is too small: <what> 7.9 MiB", where
 * `what` says what needs the memory. Without max_ram in env the message names the limit that decides. The number is
 * `need` plus 1/32 and half a MiB, rounded up, because the memory of a process at its start varies by some 100 KiB and
 * 2 % between runs: so it is enough for the next run. */
qb_status qb__fail_ram(const qb_env *env, double cap, double need, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
