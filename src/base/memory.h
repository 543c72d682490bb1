/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_MEMORY_H
#define QB_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/status.h"

/* a * b * c in *product; false when it does not fit. */
bool qb__mul(size_t a, size_t b, size_t c, size_t *product);

/* How many b hold a. */
static inline size_t qb__ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

/* The next multiple of step. */
static inline size_t qb__round_up(size_t n, size_t step) { return qb__ceil_div(n, step) * step; }

static inline size_t qb__smaller(size_t a, size_t b) { return a < b ? a : b; }

static inline size_t qb__larger(size_t a, size_t b) { return a > b ? a : b; }

/* count * size bytes, 64-byte aligned, zeroed: pages are only taken when touched. *out is NULL on
 * failure (QB_NO_MEMORY) and for zero bytes. Large blocks come from and return to the system, so
 * that what is freed no longer counts against --max-ram. */
qb_status qb__alloc(size_t count, size_t size, void *out);
void qb__free(void *block); /* NULL-safe */

char *qb__strdup(const char *text); /* NULL for NULL or when memory is out; release with qb__free */

/* How many of this thread's allocations have failed: tells a caller that forgives failures of
 * optional parts whether it forgave a lack of memory. */
size_t qb__allocations_failed(void);

/* The n-th allocation from now fails, once; 0 = never. For the tests. Returns how far the one told
 * before still is: 0 when it has failed. */
size_t qb__fail_allocation(size_t n);

/* Anonymous bytes this process holds now (VmRSS less mapped file pages); 0 when unknown. */
size_t qb__resident_bytes(void);
/* Bytes this process could still take: the smallest of free memory, what the limits of its cgroups (versions 1 and 2,
 * all that it lies in) leave, and what ulimit leaves of addresses and data. */
size_t qb__available_bytes(void);
/* qb__available_bytes, and in *from the limit that decides, in words. */
size_t qb__available_from(const char **from);
/* What the limit of the cgroup in that folder leaves; SIZE_MAX without one. File pages that nobody
 * used lately count in memory.current and give way, so they are room: without them a scan just
 * written or read would be taken for memory in use. */
size_t qb__cgroup_room(const char *folder);
/* The smallest qb__cgroup_room of all groups that `list`, in the form of /proc/self/cgroup, names below `mount`. */
size_t qb__cgroups_room(const char *list, const char *mount);

/* Bytes this process may hold: env's max_ram, or 3/4 of what is free now. */
size_t qb__memory_cap(const qb_env *env);
/* QB_BAD_ARGUMENT for a cap of so many bytes: "--max-ram of 3.0 MiB is too small: <what> 7.9 MiB", where
 * `what` says that something needs so many. Where the caller's env has no max_ram it names the limit that the cap comes from. The figure is enough the next time, too: more than `need` bytes by 1/32
 * and by half a MiB, because what a process holds before it begins differs by some 100 KiB and up to 2 % from run to run,
 * and rounded up. */
qb_status qb__fail_ram(const qb_env *env, double cap, double need, const char *what, ...)
    __attribute__((format(printf, 4, 5)));

#endif
