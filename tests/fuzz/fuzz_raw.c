/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

/* Raw data state nothing; what can be wrong is the .json next to them, and --shape. The input is both: a line with the
 * shape, which is empty if the .json has it, and then the .json. */
const char *const fuzz_name = "raw";

enum { BYTES = 480 }; /* as many as the shapes of the seeds need */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[128], sidecar[140], shape[64] = "";
    uint8_t numbers[BYTES];
    const uint8_t *end = memchr(data, '\n', size < sizeof shape ? size : sizeof shape);
    const size_t n = end ? (size_t)(end - data) : 0;
    if (!end) return 0;
    memcpy(shape, data, n);
    const bool sinogram = n && shape[n - 1] == 's'; /* as VIEWS,ROWS,COLUMNS:DTYPEs */
    if (sinogram) shape[n - 1] = 0;
    const qb_scan_options options = {.shape = *shape ? shape : NULL,
                                     .as = sinogram ? QB_IMAGE_SINOGRAM : QB_IMAGE_PROJECTION};
    snprintf(path, sizeof path, "/tmp/qb-fuzz-%ld.raw", (long)getpid());
    snprintf(sidecar, sizeof sidecar, "%s.json", path);
    for (int i = 0; i < BYTES; i++) numbers[i] = (uint8_t)i;
    fuzz_write(path, numbers, BYTES);
    fuzz_write(sidecar, end + 1, size - n - 1);
    fuzz_read(path, &options);
    remove(path);
    remove(sidecar);
    return 0;
}

/* Our own notes, after each of these. */
static const char *const shapes[] = {
    "", "", "4,5,6:float32", "4,5,6:uint16big:240", "2,4,5:float64:160", "4,5,6:uint16s"};

bool fuzz_seed(size_t index, const char *path) {
    char raw[512], sidecar[520], text[1 << 14];
    if (index >= sizeof shapes / sizeof *shapes) return false;
    snprintf(raw, sizeof raw, "%s.raw", path);
    snprintf(sidecar, sizeof sidecar, "%s.json", raw);
    if (!fuzz_put(raw, index ? QB_F32 : QB_U16, true)) return false;
    int n = snprintf(text, sizeof text, "%s\n", shapes[index]);
    FILE *file = fopen(sidecar, "rb");
    if (!file) return false;
    size_t got = fread(text + n, 1, sizeof text - (size_t)n, file);
    fclose(file);
    remove(raw);
    remove(sidecar);
    fuzz_write(path, (const uint8_t *)text, (size_t)n + got);
    return true;
}
