/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

/* Raw data say nothing; what can lie is the .json beside them. The input is that. */
const char *const fuzz_name = "json";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[128], sidecar[140];
    qb_scan *scan;
    snprintf(path, sizeof path, "/tmp/qb-fuzz-%ld.raw", (long)getpid());
    snprintf(sidecar, sizeof sidecar, "%s.json", path);
    FILE *file = fopen(path, "wb"), *beside = fopen(sidecar, "wb");
    if (!file || !beside) abort();
    for (int i = 0; i < 480; i++) fputc(i, file);
    fwrite(data, 1, size, beside);
    fclose(file);
    fclose(beside);
    if (qb_scan_open(path, NULL, NULL, &scan) == QB_OK) {
        qb_scan_inspect(scan, NULL);
        qb_scan_close(scan);
    }
    remove(path);
    remove(sidecar);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    char raw[512], sidecar[520];
    if (index > 1) return false;
    snprintf(raw, sizeof raw, "%s.raw", path);
    snprintf(sidecar, sizeof sidecar, "%s.json", raw);
    if (!fuzz_put(raw, index ? QB_F32 : QB_U16, true)) return false;
    remove(raw);
    return rename(sidecar, path) == 0;
}
