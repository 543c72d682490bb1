/* SPDX-License-Identifier: MIT */
/* fuzz_NAME [FOLDER] [MUTATIONS], or fuzz_NAME --seeds FOLDER to write the seeds there: without libFuzzer. Inputs run
 * in children, so that a crash costs one input. That input is kept and named, and the exit status is 1. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

const char fuzz_replays = 1;
__attribute__((weak)) extern void __gcov_dump(void);

enum { SECONDS = 60, BATCH = 64, LARGEST = 1 << 20, SEEDS = 64 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[SEEDS];
static size_t seed_count;

static uint64_t state;
static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void add_seed(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == SEEDS) abort();
    uint8_t *bytes = malloc(LARGEST);
    if (!bytes) abort();
    seeds[seed_count].size = fread(bytes, 1, LARGEST, file);
    seeds[seed_count++].bytes = bytes;
    fclose(file);
}

static void make_seeds(const char *folder) {
    char path[512];
    snprintf(path, sizeof path, "/tmp/qb-seed-%ld.%s", (long)getpid(), fuzz_name);
    for (size_t i = 0; fuzz_seed(i, path); i++) add_seed(path);
    remove(path);
    DIR *corpus = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; corpus && (entry = readdir(corpus));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (seed_count < SEEDS) add_seed(path);
    }
    if (corpus) closedir(corpus);
}

/* Applies a few changes: a bit, a byte, a special number, a moved piece, a cut. */
static size_t mutate(uint8_t *data, size_t size) {
    static const uint64_t special[] = {
        0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
    for (uint32_t n = 1 + draw(6); n > 0 && size > 8; n--) {
        size_t at = draw((uint32_t)size);
        /* most faults are in headers: half of the changes go to the first 512 bytes */
        if (draw(2) && size > 512) at = draw(512);
        uint32_t kind = draw(8);
        size_t width = (size_t)1 << draw(4);
        if (kind < 2)
            data[at] ^= (uint8_t)(1u << draw(8));
        else if (kind < 4)
            data[at] = (uint8_t)draw(256);
        else if (kind < 6 && at + width <= size)
            memcpy(data + at, &special[draw(10)], width);
        else if (kind == 6)
            memmove(data + at, data + draw((uint32_t)at + 1), size - at);
        else if (draw(4) == 0)
            size = at + 1;
    }
    return size;
}

/* Inputs 0..seeds-1 are the seeds; the others are mutations that depend on the number alone. */
static size_t make_input(size_t number, uint8_t *data) {
    size_t s = number % seed_count, size = seeds[s].size;
    memcpy(data, seeds[s].bytes, size);
    if (number < seed_count) return size;
    state = number * 0x9e3779b97f4a7c15u + 12345;
    return mutate(data, size);
}

static void keep(size_t number, uint8_t *data) {
    char path[128];
    size_t size = make_input(number, data);
    snprintf(path, sizeof path, "/tmp/qb-crash-%ld-%s-%zu", (long)getpid(), fuzz_name, number);
    FILE *file = fopen(path, "wb");
    if (file) fwrite(data, 1, size, file);
    if (file) fclose(file);
    fprintf(stderr, "input %zu: crash; kept as %s\n", number, path);
}

/* An input that hangs is as bad as one that crashes. Its CPU time is counted, since a busy machine delays everything;
 * an input that waits has a longer limit. */
static void be_patient(void) {
    const struct itimerval most = {.it_value.tv_sec = 20};
    setitimer(ITIMER_PROF, &most, NULL);
    alarm(600);
}

/* Runs inputs first .. end-1 in a child; *at is the current one. Returns the first that failed, or end. */
static size_t run_batch(size_t first, size_t end, volatile size_t *at, uint8_t *data, bool *elsewhere) {
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        for (size_t i = first; i < end; i++) {
            *at = i;
            be_patient();
            LLVMFuzzerTestOneInput(data, make_input(i, data));
        }
        if (__gcov_dump) __gcov_dump(); /* scripts/reader-coverage.py counts here */
        _exit(0);
    }
    int how;
    waitpid(child, &how, 0);
    *elsewhere = WIFEXITED(how) && WEXITSTATUS(how) == FUZZ_ELSEWHERE;
    return how == 0 ? end : *at;
}

/* Seeds for libFuzzer. */
static int write_seeds(const char *folder) {
    char path[512];
    make_seeds(NULL);
    for (size_t i = 0; i < seed_count; i++) {
        snprintf(path, sizeof path, "%s/seed-%zu", folder, i);
        fuzz_write(path, seeds[i].bytes, seeds[i].size);
    }
    return seed_count ? 0 : 77;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "--seeds") == 0) return write_seeds(arguments[2]);
    const char *quick = getenv("QB_QUICK");
    size_t total = count > 2 ? strtoull(arguments[2], NULL, 10) : quick && *quick == '1' ? 500 : 2000, crashes = 0;
    size_t foreign = 0, i = 0;
    const char *folder = count > 1 && *arguments[1] ? arguments[1] : NULL;
    uint8_t *data = malloc(LARGEST);
    size_t *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    time_t start = time(NULL);
    if (!data || at == MAP_FAILED) return 2;
    make_seeds(folder);
    if (seed_count == 0) {
        printf("%s: not in this build\n", fuzz_name);
        return 77;
    }
    while (i < total && time(NULL) - start < SECONDS) {
        bool elsewhere;
        size_t end = i + BATCH < total ? i + BATCH : total;
        size_t stop = run_batch(i, end, at, data, &elsewhere);
        i = stop < end ? stop + 1 : end;
        if (stop == end) continue;
        if (elsewhere) {
            foreign++;
        } else {
            keep(stop, data);
            crashes++;
        }
    }
    printf("%s: %zu seeds, %zu inputs, %zu crashes\n", fuzz_name, seed_count, i, crashes);
    if (foreign) printf("%s: and %zu crashes inside the format's own library\n", fuzz_name, foreign);
    for (size_t s = 0; s < seed_count; s++) free(seeds[s].bytes);
    free(data);
    return crashes ? 1 : 0;
}
