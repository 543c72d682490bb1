/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CPU features, supported by the CPU and by the operating system, that a kernel variant may need. */
enum {
    QB__CPU_AVX2 = 1u << 0,       /* AVX2, FMA, F16C, BMI2 */
    QB__CPU_AVX512 = 1u << 1,     /* F, BW, DQ, VL */
    QB__CPU_AVX512FP16 = 1u << 2, /* half-precision arithmetic */
    QB__CPU_AVX512VNNI = 1u << 3, /* requires AVX512; VNNI and VBMI */
};

/* The features of this CPU without those that QB_CPU_MASK (scalar|avx2|avx512) removes. */
uint32_t qb__cpu_features(void);
const char *qb__cpu_name(void); /* name of the processor */
int qb__cpu_count(void);        /* CPUs this process may run on */
size_t qb__cpu_l1_bytes(void);  /* data cache of one core; 32 KiB if unknown */
size_t qb__cpu_l2_bytes(void);  /* 1 MiB if unknown */
