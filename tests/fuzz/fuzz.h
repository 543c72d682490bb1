/* SPDX-License-Identifier: MIT */
/* One harness a reader. With clang and -DQB_FUZZ=ON each is a libFuzzer program; always each is
 * also a plain program that makes its own seeds, changes them in ways that are the same every time,
 * and replays the files of a folder if given one. */
#ifndef QB_TESTS_FUZZ_H
#define QB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/io.h"
#include "quickbeam/scan.h"

/* What a harness defines. */
extern const char *const fuzz_name; /* "npy": also the ending of its files */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Write seed number `index` to `path`; false when there are no more. */
bool fuzz_seed(size_t index, const char *path);

/* A child that ends with this status crashed inside a library that is not ours: counted, and told.
 */
enum { FUZZ_ELSEWHERE = 3 };

/* There is one where inputs run in children already (replay.c), none in a libFuzzer program. */
__attribute__((weak)) extern const char fuzz_replays;

/* What a harness uses: the bytes as a file NAME.ending, opened as a scan and as an array, and read.
 */
void fuzz_file(const uint8_t *data, size_t size, const qb_scan_options *options);
/* Its two halves: the bytes into a file; all that reads one. */
void fuzz_write(const char *path, const uint8_t *data, size_t size);
void fuzz_read(const char *path, const qb_scan_options *options);
/* Write a small stack or scan by our own writer. */
bool fuzz_put(const char *path, qb_dtype dtype, bool scan);

/* The same for geometries: read, described, written in every form and read again. A seed from our own
 * writer, and one of this text. */
void fuzz_geometry(const uint8_t *data, size_t size);
bool fuzz_geometry_seed(const char *ending, const char *path);
bool fuzz_text_seed(const char *text, const char *path);

#endif
