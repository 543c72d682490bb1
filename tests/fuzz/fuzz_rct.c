/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/pool.h"
#include "fuzz.h"
#include "io/plain/rabbitct.h"
#include "simulate/rabbitct_synthetic.h"

const char *const fuzz_name = "rct";

static void read_set(const char *path) {
    qb__rabbitct set;
    double matrix[12];
    if (qb__rabbitct_open(path, &set) != QB_OK) return;
    float *image = malloc(set.columns * set.rows * sizeof *image + 1);
    if (image) {
        qb__rabbitct_view(&set, 0, matrix, image);
        qb__rabbitct_view(&set, set.views - 1, matrix, image);
    }
    free(image);
    uint16_t *reference = malloc(2u << 21);
    if (reference) qb__rabbitct_reference(&set, 128, reference);
    free(reference);
    qb__rabbitct_close(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[128];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/qb-fuzz-%ld.rct", folder, (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
    read_set(path);
    remove(path);
    return 0;
}

/* The original layout, small; and the same without its version, which is the newer layout. */
bool fuzz_seed(size_t index, const char *path) {
    const qb__rabbitct_synthetic what = {8, 6, 4, 0, false};
    unsigned char all[4096];
    qb__pool *pool;
    if (index > 1 || qb__pool_create(1, &pool) != QB_OK) return false;
    qb_status status = qb__rabbitct_synthesize(path, &what, pool, NULL);
    qb__pool_destroy(pool);
    if (index == 0 || status != QB_OK) return status == QB_OK;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    const size_t bytes = fread(all, 1, sizeof all, file);
    fclose(file);
    file = fopen(path, "wb");
    if (!file) return false;
    const bool good = fwrite(all + 4, 1, bytes - 4, file) == bytes - 4;
    return fclose(file) == 0 && good;
}
