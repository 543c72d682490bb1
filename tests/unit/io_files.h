/* SPDX-License-Identifier: MIT */
/* A folder for the files of a test, and arrays to put into them. */
#ifndef QB_TESTS_IO_FILES_H
#define QB_TESTS_IO_FILES_H

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "quickbeam/io.h"
#include "quickbeam/scan.h"

static char test_folder[64];

static inline int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static inline int make_folder(void **state) {
    (void)state;
    strcpy(test_folder, "/tmp/qb-test-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static inline int drop_folder(void **state) {
    (void)state;
    return nftw(test_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in the folder. It stays valid for the next seven calls. */
static inline const char *in_folder(const char *name) {
    static char names[8][512];
    static int next;
    char *path = names[next++ % 8];
    snprintf(path, sizeof names[0], "%s/%s", test_folder, name);
    return path;
}

static inline size_t count_files(const char *path) {
    DIR *folder = opendir(path);
    size_t n = 0;
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return n;
}

static inline void fill_bytes(void *out, size_t bytes, unsigned seed) {
    unsigned char *at = out;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = (unsigned char)(seed >> 24);
    }
}

static inline qb_stack small_stack(qb_dtype dtype) {
    return (qb_stack){.dtype = dtype,
                      .shape = {4, 5, 6},
                      .voxel = {0.5, 0.5, 0.25},
                      .units = "1/mm",
                      .quantity = "attenuation",
                      .description = "a test"};
}

/* Writes a whole stack at once. */
static inline qb_status put_stack(const char *path, const qb_stack *stack, const void *data) {
    qb_writer *writer;
    qb_status status = qb_writer_create(path, stack, &writer);
    if (status != QB_OK) return status;
    status = qb_writer_write(writer, 0, stack->shape[0], data);
    if (status == QB_OK) return qb_writer_commit(writer, "{\"version\":\"test\"}");
    qb_writer_abort(writer);
    return status;
}

/* Functions that write, read and change the files of a folder. */
static inline void put_file(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static inline char *get_file(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*count + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    bytes[*count] = 0;
    fclose(file);
    return bytes;
}

/* False where this build cannot write such a file. It then prints that this part is skipped. */
static inline bool can_write(const char *path, const qb_stack *stack) {
    qb_writer *writer;
    qb_status status = qb_writer_create(path, stack, &writer);
    if (status == QB_OK) qb_writer_abort(writer);
    return status != QB_UNSUPPORTED;
}

#endif
