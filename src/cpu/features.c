/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "features.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FEATURES_KNOWN (1u << 31)

#if defined(__x86_64__)
#include <cpuid.h>

/* Registers that the operating system saves at a task switch. */
static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

static uint32_t detect(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!has_all(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) return 0;
    uint64_t state = saved_state();
    if ((state & 0x6) != 0x6) return 0;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (!has_all(b, bit_AVX2 | bit_BMI2)) return 0;
    uint32_t features = QB__CPU_AVX2;

    if ((state & 0xe6) != 0xe6) return features;
    if (!has_all(b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)) return features;
    features |= QB__CPU_AVX512;
    if (d & (1u << 23)) features |= QB__CPU_AVX512FP16;
    if (has_all(c, bit_AVX512VBMI | bit_AVX512VNNI)) features |= QB__CPU_AVX512VNNI;
    return features;
}

/* Deterministic cache parameters: leaf 4 on Intel; 0x8000001D, with the same layout, on AMD. */
static size_t cache_bytes(unsigned level) {
    static const uint32_t leaves[] = {0x8000001d, 4};
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t index = 0; index < 8; index++) {
            uint32_t a, b, c, d;
            if (!__get_cpuid_count(leaves[i], index, &a, &b, &c, &d)) break;
            uint32_t type = a & 31;
            if (type == 0) break;
            if (type == 2 || (a >> 5 & 7) != level) continue;
            size_t ways = (b >> 22) + 1, partitions = (b >> 12 & 1023) + 1, line = (b & 4095) + 1;
            return ways * partitions * line * ((size_t)c + 1);
        }
    }
    return 0;
}

static void read_name(char name[49]) {
    uint32_t words[12], top, b, c, d;
    if (!__get_cpuid(0x80000000u, &top, &b, &c, &d) || top < 0x80000004u) return;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *w = words + 4 * i;
        __get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3]);
    }
    memcpy(name, words, sizeof words);
    name[48] = '\0';
}
#else
static uint32_t detect(void) { return 0; }
static size_t cache_bytes(unsigned level) { return (void)level, (size_t)0; }
static void read_name(char name[49]) { (void)name; }
#endif

/* QB_CPU_MASK lets tests use the narrower variants on a wide machine. */
static uint32_t mask(void) {
    const char *cap = getenv("QB_CPU_MASK");
    if (!cap) return ~0u;
    if (!strcmp(cap, "scalar")) return 0;
    if (!strcmp(cap, "avx2")) return QB__CPU_AVX2;
    if (!strcmp(cap, "avx512")) return QB__CPU_AVX2 | QB__CPU_AVX512;
    return ~0u;
}

uint32_t qb__cpu_features(void) {
    static atomic_uint known;
    uint32_t features = atomic_load_explicit(&known, memory_order_relaxed);
    if (!(features & FEATURES_KNOWN)) {
        features = (detect() & mask()) | FEATURES_KNOWN;
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features & ~FEATURES_KNOWN;
}

const char *qb__cpu_name(void) {
    static _Thread_local char name[49];
    if (!name[0]) read_name(name);
    const char *text = name + strspn(name, " ");
    return *text ? text : "unknown processor";
}

int qb__cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

size_t qb__cpu_l1_bytes(void) {
    size_t bytes = cache_bytes(1);
    return bytes ? bytes : 32u << 10;
}

size_t qb__cpu_l2_bytes(void) {
    size_t bytes = cache_bytes(2);
    return bytes ? bytes : 1u << 20;
}
