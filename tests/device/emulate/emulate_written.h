/* SPDX-License-Identifier: MIT */
/* With EMULATE_WRITTEN set, reads of unwritten device memory are found, as initcheck finds them on a GPU. All such
 * memory lies in one range of addresses, followed by one byte for each of its bytes: 1 = written. Accesses of kernels
 * come here from the calls that the compiler inserts for its thread sanitizer (emulate.h), copies come from the driver
 * (emulate_cuda.c). */
#ifndef QB_TESTS_EMULATE_WRITTEN_H
#define QB_TESTS_EMULATE_WRITTEN_H

#include <stdint.h>
#include <string.h>

#define QB_WRITTEN_AT ((uintptr_t)1 << 44)
#define QB_WRITTEN_BYTES ((uintptr_t)1 << 40) /* of addresses, not of memory */
#define QB_UNCHECKED __attribute__((no_sanitize_thread))

QB_UNCHECKED static inline int qb_is_device(const void *at) { return (uintptr_t)at - QB_WRITTEN_AT < QB_WRITTEN_BYTES; }
QB_UNCHECKED static inline unsigned char *qb_marks_of(const void *at) {
    return (unsigned char *)((uintptr_t)at + QB_WRITTEN_BYTES);
}
/* For memory that may not be device memory. */
QB_UNCHECKED static inline void qb_mark(const void *at, size_t bytes) {
    if (qb_is_device(at)) memset(qb_marks_of(at), 1, bytes);
}
/* Index of the first unwritten byte, or `bytes` if there is none. */
QB_UNCHECKED static inline size_t qb_written(const void *at, size_t bytes) {
    if (!qb_is_device(at)) return bytes;
    const unsigned char *none = (const unsigned char *)memchr(qb_marks_of(at), 0, bytes);
    return none ? (size_t)(none - qb_marks_of(at)) : bytes;
}

#endif
