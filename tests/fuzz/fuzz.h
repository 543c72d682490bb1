/* SPDX-License-Identifier: MIT */
/* One harness for each reader. With clang and -DQB_FUZZ=ON, each is a libFuzzer program. Each is also always a plain
 * program that makes its own seeds, changes them in ways that are the same every time, and replays the files of a
 * folder if one is given. */
#ifndef QB_TESTS_FUZZ_H
#define QB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/io.h"
#include "quickbeam/scan.h"

/* Defined by each harness: */
extern const char *const fuzz_name; /* "npy": also the ending of its files */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Writes seed number `index` to `path`; false if there are no more. */
bool fuzz_seed(size_t index, const char *path);

/* A child that exits with this status crashed inside a library that is not ours: it is counted and reported. */
enum { FUZZ_ELSEWHERE = 3 };

/* From now on a crash inside this shared library ends the process with FUZZ_ELSEWHERE. `clock`: SIGALRM, too, which
 * libFuzzer needs itself. */
void fuzz_catch(const char *library, bool clock);

/* True if inputs already run in children (replay.c); false in a libFuzzer program. */
__attribute__((weak)) extern const char fuzz_replays;

/* For harnesses: writes the bytes to a file NAME.ending, opens it as a scan and as an array, and reads it. */
void fuzz_file(const uint8_t *data, size_t size, const qb_scan_options *options);
/* Its name; and the two halves of that: writes the bytes to a file; reads everything of it. */
const char *fuzz_scratch(void);
/* A folder next to it, which is made. */
const char *fuzz_folder(void);
void fuzz_write(const char *path, const uint8_t *data, size_t size);
void fuzz_read(const char *path, const qb_scan_options *options);
/* Writes a small stack or scan with our own writer. */
bool fuzz_put(const char *path, qb_dtype dtype, bool scan);

/* The same for geometries: read, described, written in every form and read again. One seed comes from our own writer,
 * the others are the given text. */
void fuzz_geometry(const uint8_t *data, size_t size);
bool fuzz_geometry_seed(const char *ending, const char *path);
bool fuzz_text_seed(const char *text, const char *path);

#endif
