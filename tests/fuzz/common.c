/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* ---- crashes inside libraries that are not ours ---- */

static const char *elsewhere;          /* part of the library's file name; NULL: none */
static struct sigaction earlier[NSIG]; /* of the sanitizer */

/* The innermost frame that belongs neither to the C library nor to the sanitizer tells whose crash it is. */
static bool is_elsewhere(void) {
    void *frames[64];
    int n = elsewhere ? backtrace(frames, 64) : 0;
    for (int i = 0; i < n; i++) {
        Dl_info about;
        if (!dladdr(frames[i], &about) || !about.dli_fname) continue;
        if (strstr(about.dli_fname, elsewhere)) return true;
        if (about.dli_sname && strncmp(about.dli_sname, "qb_", 3) == 0) return false;
    }
    return false;
}

static void on_signal(int number) {
    if (is_elsewhere()) _exit(FUZZ_ELSEWHERE);
    sigaction(number, &earlier[number], NULL);
    raise(number);
}

/* The address sanitizer calls it before it reports. */
__attribute__((visibility("default"))) void __asan_on_error(void);
void __asan_on_error(void) {
    if (is_elsewhere()) _exit(FUZZ_ELSEWHERE);
}

void fuzz_catch(const char *library, bool clock) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM, SIGPROF};
    void *frame[1];
    backtrace(frame, 1); /* loads what it needs now, not in the handler */
    elsewhere = library;
    for (size_t i = 0; i < (clock ? 6 : 4); i++)
        sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal}, &earlier[numbers[i]]);
}

/* In memory, if the system has such a folder. */
const char *fuzz_scratch(void) {
    static char path[256];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (!*path) /* a child that dies leaves it to its parent */
        snprintf(path, sizeof path, "%s/qb-fuzz-%ld.%s", folder, (long)getpid(), fuzz_name);
    return path;
}

static void remove_folder(void) { rmdir(fuzz_folder()); }

const char *fuzz_folder(void) {
    static char path[256];
    if (!*path && !&fuzz_replays) atexit(remove_folder);
    if (!*path) snprintf(path, sizeof path, "%s.d", fuzz_scratch());
    if (mkdir(path, 0700) != 0 && errno != EEXIST) abort();
    return path;
}

static void read_scan(const char *path, const qb_scan_options *options) {
    qb_scan *scan;
    if (qb_scan_open(path, options, NULL, &scan) != QB_OK) return;
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t views = info->views < 3 ? info->views : 3, rows = info->rows < 3 ? info->rows : 3;
    size_t row = info->columns * qb_dtype_size(info->dtype);
    void *out = row < (1 << 24) ? malloc(views * rows * row + 1) : NULL;
    if (out) {
        qb_scan_read(scan, 0, views, 0, rows, out);
        qb_scan_read(scan, info->views - views, info->views, info->rows - rows, info->rows, out);
    }
    free(out);
    if (info->rows * row < (1 << 24)) qb_scan_inspect(scan, NULL);
    qb_scan_close(scan);
}

void fuzz_write(const char *path, const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file) abort();
    if (fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
}

void fuzz_read(const char *path, const qb_scan_options *options) {
    qb_array array;
    double voxel[3];
    char *json = NULL;
    read_scan(path, options);
    if (qb_array_load(path, options ? options->shape : NULL, &array, voxel) == QB_OK) qb_array_destroy(&array);
    if (qb_provenance_load(path, &json) == QB_OK) free(json);
}

void fuzz_file(const uint8_t *data, size_t size, const qb_scan_options *options) {
    const char *path = fuzz_scratch();
    fuzz_write(path, data, size);
    fuzz_read(path, options);
    remove(path);
}

bool fuzz_put(const char *path, qb_dtype dtype, bool scan) {
    unsigned char data[4 * 5 * 6 * 8];
    double angles[4] = {0.0, 0.7, 1.4, 2.1};
    qb_array fields = {dtype, {2, 5, 6}, data};
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37);
    qb_stack stack = {.dtype = dtype,
                      .shape = {4, 5, 6},
                      .voxel = {0.5, 0.5, 0.5},
                      .units = "counts",
                      .quantity = scan ? "counts" : "attenuation",
                      .description = "a seed"};
    if (scan) {
        stack.angles = angles;
        stack.flats = stack.darks = &fields;
    }
    qb_writer *writer;
    if (qb_writer_create(path, &stack, &writer) != QB_OK) return false;
    if (qb_writer_write(writer, 0, 4, data) != QB_OK) {
        qb_writer_abort(writer);
        return false;
    }
    return qb_writer_commit(writer, "{\"seed\":1}") == QB_OK;
}
