/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"

/* Every block starts with a 64-byte header that tells how it was allocated. */
typedef struct head {
    size_t bytes; /* size of the whole block, with its header */
    bool mapped;
    char padding[64 - sizeof(size_t) - sizeof(bool)];
} head;

enum { MAP_FROM = 1 << 20 };

static _Atomic size_t failure_countdown;
static _Thread_local size_t failures;

size_t qb__memory_cap(const qb_env *env) {
    if (env && env->max_ram) return env->max_ram;
    return qb__resident_bytes() + qb__available_bytes() / 4 * 3;
}

qb_status qb__fail_ram(const qb_env *env, double cap, double need, const char *what, ...) {
    const double tenth = 1048576.0 / 10, spare = fmax(need / 32, 512 << 10);
    const char *from;
    char words[512], limit[128] = "--max-ram of ", given[32];
    va_list args;
    va_start(args, what);
    vsnprintf(words, sizeof words, what, args);
    va_end(args);
    snprintf(given, sizeof given, "%.1f MiB", floor(cap / tenth + 1e-6) / 10);
    if (!env || !env->max_ram) {
        qb__available_from(&from);
        snprintf(limit, sizeof limit, "3/4 of what %s, ", from);
    }
    return qb__fail(QB_BAD_ARGUMENT, "%s%s is too small: %s %.1f MiB", limit, given, words,
                    ceil((need + spare) / tenth) / 10);
}

bool qb__mul(size_t a, size_t b, size_t c, size_t *product) {
    size_t ab;
    return !__builtin_mul_overflow(a, b, &ab) && !__builtin_mul_overflow(ab, c, product);
}

size_t qb__fail_allocation(size_t n) { return atomic_exchange(&failure_countdown, n); }

/* Size of a single allocation, which is not added to others. */
static bool must_fail(void) {
    size_t n = atomic_load_explicit(&failure_countdown, memory_order_relaxed);
    while (n > 0 && !atomic_compare_exchange_weak(&failure_countdown, &n, n - 1)) {}
    return n == 1;
}

enum { LARGE = 64 << 20 };
static atomic_size_t large_bytes; /* bytes of all large blocks */

/* The kernel gives out more memory than a cgroup allows, and kills the process when it is used. So a large block that
 * cannot fit, together with other blocks that are not filled yet, is refused here. NULL: it fits. */
static const char *beyond(size_t bytes) {
    const size_t room = bytes < LARGE ? SIZE_MAX : qb__cgroups_room("/proc/self/cgroup", "/sys/fs/cgroup");
    if (room == SIZE_MAX) return NULL;
    const size_t held = atomic_load(&large_bytes), filled = qb__resident_bytes();
    const size_t waiting = held > filled ? held - filled : 0;
    if (waiting <= room && bytes <= room - waiting) return NULL;
    return ": the memory limit of the container or batch job (cgroup) leaves less";
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
    const char *why = must_fail() ? "" : beyond(bytes);
    if (!why) {
        if (mapped) {
            block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (block == MAP_FAILED) block = NULL;
            /* Back-projection reads these blocks with large strides, and huge pages cause fewer TLB misses. Used only
             * for blocks so large that rounding up to 2 MiB does not change the memory forecast. */
            if (block && bytes >= ((size_t)64 << 20)) madvise(block, bytes, MADV_HUGEPAGE);
        } else {
            block = aligned_alloc(64, bytes);
            if (block) memset(block, 0, bytes);
        }
    }
    if (!block) {
        failures++;
        return qb__fail(QB_NO_MEMORY, "cannot allocate %zu bytes%s", bytes, why ? why : "");
    }
    block->bytes = bytes;
    block->mapped = mapped;
    if (bytes >= LARGE) atomic_fetch_add(&large_bytes, bytes);
    *slot = block + 1;
    return QB_OK;
}

void qb__free(void *memory) {
    if (!memory) return;
    head *block = (head *)memory - 1;
    if (block->bytes >= LARGE) atomic_fetch_sub(&large_bytes, block->bytes);
    if (block->mapped) {
        munmap(block, block->bytes);
    } else {
        free(block);
    }
}

void qb__free_all(size_t count, void *const blocks[]) {
    for (size_t i = 0; i < count; i++) qb__free(blocks[i]);
}

size_t qb__allocations_failed(void) { return failures; }

char *qb__strdup(const char *text) {
    void *copy = NULL;
    if (text && qb__alloc(strlen(text) + 1, 1, &copy) == QB_OK) strcpy(copy, text);
    return copy;
}

/* The number after `key` in a file of lines "key 123"; SIZE_MAX if absent. */
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

/* Lines in /proc have the form "Key:   123 kB". */
static size_t proc_bytes(const char *path, const char *key) {
    size_t kib = number_after(path, key);
    return kib == SIZE_MAX ? SIZE_MAX : kib * 1024;
}

/* Resident pages without those of files. /proc/self/status has the same number but takes ten times as long to read. */
size_t qb__resident_bytes(void) {
    unsigned long long size, resident, shared;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    const int got = fscanf(file, "%llu %llu %llu", &size, &resident, &shared);
    fclose(file);
    return got == 3 && resident > shared ? (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE) : 0;
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
    /* Names of the same values in cgroup versions 1 and 2. */
    static const char *const files[][3] = {{"memory.max", "memory.current", "inactive_file "},
                                           {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}};
    size_t room = SIZE_MAX;
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        size_t limit = number_in(path);
        snprintf(path, sizeof path, "%s/%s", folder, files[i][1]);
        size_t used = number_in(path);
        if (limit == SIZE_MAX || used == SIZE_MAX) continue;
        snprintf(path, sizeof path, "%s/memory.stat", folder);
        size_t cached = number_after(path, files[i][2]);
        if (cached != SIZE_MAX) used -= qb__smaller(cached, used);
        room = qb__smaller(room, limit > used ? limit - used : 0);
    }
    return room;
}

/* The smallest limit of a group and of all groups above it. `path` is "/a/b" or "/"; it is shortened. */
static size_t room_above(const char *mount, const char *version1, char *path) {
    size_t room = SIZE_MAX;
    for (;;) {
        char folder[4096];
        size_t n = strlen(path);
        while (n && path[n - 1] == '/') path[--n] = 0;
        if ((size_t)snprintf(folder, sizeof folder, "%s%s%s", mount, version1, path) < sizeof folder)
            room = qb__smaller(room, qb__cgroup_room(folder));
        char *slash = strrchr(path, '/');
        if (!slash) return room;
        *slash = 0;
    }
}

size_t qb__cgroups_room(const char *list, const char *mount) {
    FILE *file = fopen(list, "re");
    char line[2048], root[2] = "";
    /* in a container the mount point is the folder of the process's own group */
    size_t room = room_above(mount, "", root);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        bool version2 = controllers[1] == 0, memory = strstr(controllers, "memory") != NULL;
        if (version2 || memory) room = qb__smaller(room, room_above(mount, version2 ? "" : "/memory", path));
    }
    if (file) fclose(file);
    return room;
}

/* Bytes that setrlimit (ulimit -v, -d) still allows, minus the addresses that threads reserve for stacks and heaps but
 * do not fill. */
static size_t limit_room(int resource, const char *used_key) {
    enum { THREAD_ADDRESSES = 40 << 20, OTHERS = 4 }; /* threads for reading and writing */
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    size_t used = proc_bytes("/proc/self/status", used_key), most = (size_t)limit.rlim_cur;
    if (used == SIZE_MAX || used >= most) return 0;
    size_t room = most - used, threads = ((size_t)sysconf(_SC_NPROCESSORS_ONLN) + OTHERS) * THREAD_ADDRESSES;
    return room - qb__smaller(threads, room / 2);
}

typedef struct limit {
    size_t bytes;
    const char *from;
} limit;

/* Limits of the computer and of its cgroups. Reading these files takes a tenth of the time of a small slice, so each
 * thread caches them for a short time. */
static limit system_limit(void) {
    static const double WHILE = 0.05; /* seconds */
    static _Thread_local limit found;
    static _Thread_local double asked;
    const double now = qb__now();
    if (found.from && now - asked < WHILE) return found;
    const limit computer = {proc_bytes("/proc/meminfo", "MemAvailable:"), "this computer has free"},
                group = {qb__cgroups_room("/proc/self/cgroup", "/sys/fs/cgroup"),
                         "the memory limit of the container or batch job (cgroup) leaves"};
    asked = now;
    found = group.bytes < computer.bytes ? group : computer;
    return found;
}

size_t qb__available_from(const char **from) {
    const limit limits[] = {system_limit(),
                            {limit_room(RLIMIT_AS, "VmSize:"), "the limit of addresses (ulimit -v) leaves"},
                            {limit_room(RLIMIT_DATA, "VmData:"), "the limit of data (ulimit -d) leaves"}};
    size_t least = 0;
    for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].bytes < limits[least].bytes) least = i;
    *from = limits[least].from;
    if (limits[least].bytes != SIZE_MAX) return limits[least].bytes;
    *from = "is taken to be free where the system does not say (no /proc)";
    return (size_t)1 << 30;
}

size_t qb__available_bytes(void) {
    const char *from;
    return qb__available_from(&from);
}
