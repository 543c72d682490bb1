/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"

/* Every block starts with a 64-byte head that remembers how it was taken. */
typedef struct head {
    size_t bytes; /* the whole block, head included */
    bool mapped;
    char padding[64 - sizeof(size_t) - sizeof(bool)];
} head;

enum { MAP_FROM = 1 << 20 };

static _Atomic size_t failure_countdown;
static _Thread_local size_t failures;

bool qb__mul(size_t a, size_t b, size_t c, size_t *product) {
    size_t ab;
    return !__builtin_mul_overflow(a, b, &ab) && !__builtin_mul_overflow(ab, c, product);
}

size_t qb__fail_allocation(size_t n) { return atomic_exchange(&failure_countdown, n); }

static bool must_fail(void) {
    size_t n = atomic_load_explicit(&failure_countdown, memory_order_relaxed);
    if (n == 0) return false;
    return atomic_fetch_sub(&failure_countdown, 1) == 1;
}

qb_status qb__alloc(size_t count, size_t size, void *out) {
    void **slot = out;
    *slot = NULL;
    size_t bytes;
    if (!qb__mul(count, size, 1, &bytes) || bytes > SIZE_MAX - sizeof(head) - 64)
        return qb__fail(QB_NO_MEMORY, "%zu x %zu bytes are more than can be addressed", count, size);
    if (bytes == 0) return QB_OK;
    bytes = (bytes + sizeof(head) + 63) / 64 * 64;
    bool mapped = bytes >= MAP_FROM;
    head *block = NULL;
    if (!must_fail()) {
        if (mapped) {
            block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (block == MAP_FAILED) block = NULL;
            /* Back-projection walks these with large strides: fewer TLB misses. Only for blocks so
             * large that rounding up to 2 MiB pages does not show in the memory forecast. */
            if (block && bytes >= ((size_t)64 << 20)) madvise(block, bytes, MADV_HUGEPAGE);
        } else {
            block = aligned_alloc(64, bytes);
            if (block) memset(block, 0, bytes);
        }
    }
    if (!block) {
        failures++;
        return qb__fail(QB_NO_MEMORY, "cannot allocate %zu bytes", bytes);
    }
    block->bytes = bytes;
    block->mapped = mapped;
    *slot = block + 1;
    return QB_OK;
}

void qb__free(void *memory) {
    if (!memory) return;
    head *block = (head *)memory - 1;
    if (block->mapped) {
        munmap(block, block->bytes);
    } else {
        free(block);
    }
}

size_t qb__allocations_failed(void) { return failures; }

char *qb__strdup(const char *text) {
    void *copy = NULL;
    if (text && qb__alloc(strlen(text) + 1, 1, &copy) == QB_OK) strcpy(copy, text);
    return copy;
}

/* The number after `key` in a file of "key 123" lines; SIZE_MAX when absent. */
static size_t number_after(const char *path, const char *key) {
    FILE *file = fopen(path, "re");
    if (!file) return SIZE_MAX;
    char line[256];
    size_t number = SIZE_MAX, n = strlen(key);
    while (number == SIZE_MAX && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, n) == 0) number = strtoull(line + n, NULL, 10);
    }
    fclose(file);
    return number;
}

/* In /proc these are "Key:   123 kB". */
static size_t proc_bytes(const char *path, const char *key) {
    size_t kib = number_after(path, key);
    return kib == SIZE_MAX ? SIZE_MAX : kib * 1024;
}

size_t qb__resident_bytes(void) {
    size_t bytes = proc_bytes("/proc/self/status", "RssAnon:");
    return bytes == SIZE_MAX ? 0 : bytes;
}

static size_t number_in(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return SIZE_MAX;
    unsigned long long n;
    int got = fscanf(file, "%llu", &n);
    fclose(file);
    return got == 1 ? (size_t)n : SIZE_MAX;
}

size_t qb__cgroup_room(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/memory.max", folder);
    size_t limit = number_in(path);
    snprintf(path, sizeof path, "%s/memory.current", folder);
    size_t used = number_in(path);
    if (limit == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    size_t cached = number_after(path, "inactive_file ");
    if (cached != SIZE_MAX) used -= cached < used ? cached : used;
    return limit > used ? limit - used : 0;
}

size_t qb__available_bytes(void) {
    size_t available = proc_bytes("/proc/meminfo", "MemAvailable:");
    if (available == SIZE_MAX) available = (size_t)1 << 30;
    size_t room = qb__cgroup_room("/sys/fs/cgroup");
    return room < available ? room : available;
}
