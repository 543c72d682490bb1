/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

const char *const fuzz_name = "zarr";

static void put(const char *folder, const char *file, const uint8_t *data, size_t size) {
    char name[400];
    snprintf(name, sizeof name, "%s/%s", folder, file);
    for (char *slash = strchr(name + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(name, 0777);
        *slash = '/';
    }
    fuzz_write(name, data, size);
}

static void drop(const char *folder, const char *file) {
    char name[400];
    snprintf(name, sizeof name, "%s/%s", folder, file);
    remove(name);
}

/* A header, a zero byte, and the file of the first chunk: version 3, or version 2 if the header does not begin with a
 * blank. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const all[] = {"zarr.json", ".zarray", "c/0/0/0", "c/0/0", "c/0", "c", "0.0.0"};
    static const qb_scan_options options = {.angles = "0:180"};
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t header = zero ? (size_t)(zero - data) : size;
    const bool three = size && *data == ' ';
    char folder[256];
    snprintf(folder, sizeof folder, "%s/qb-fuzz-%ld.zarr", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (long)getpid());
    mkdir(folder, 0777);
    put(folder, three ? "zarr.json" : ".zarray", data, header);
    if (zero) put(folder, three ? "c/0/0/0" : "0.0.0", zero + 1, size - header - 1);
    fuzz_read(folder, &options);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(folder, all[i]);
    rmdir(folder);
    return 0;
}

static const char three[] =
    " {\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[2,3,4],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":"
    "\"regular\",\"configuration\":{\"chunk_shape\":[2,4,4]}},\"chunk_key_encoding\":{\"name\":\"default\","
    "\"configuration\":{\"separator\":\"/\"}},\"fill_value\":0,\"codecs\":[{\"name\":\"sharding_indexed\","
    "\"configuration\":{\"chunk_shape\":[2,2,4],\"codecs\":[{\"name\":\"bytes\"}%s],\"index_codecs\":[{\"name\":"
    "\"bytes\","
    "\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}]}}],\"attributes\":{\"a\":1}}";
static const char two[] =
    "{\"zarr_format\":2,\"shape\":[1,2,3,4],\"chunks\":[1,2,3,4],\"dtype\":\"<u2\",\"compressor\":%s,"
    "\"fill_value\":7,\"order\":\"C\",\"filters\":null}";

bool fuzz_seed(size_t index, const char *path) {
    static const char *const codecs[] = {"", ",{\"name\":\"zstd\"}", ",{\"name\":\"gzip\"}", ",{\"name\":\"blosc\"}"};
    static const char *const compressors[] = {"null", "{\"id\":\"zlib\"}", "{\"id\":\"blosc\"}"};
    char text[2000];
    if (index >= 7) return false;
    int n = index < 4 ? snprintf(text, sizeof text, three, codecs[index])
                      : snprintf(text, sizeof text, two, compressors[index - 4]);
    text[n++] = 0;
    for (int i = 0; i < 32; i++) text[n++] = (char)('a' + i % 20);
    for (uint64_t k = 0; index < 4 && k < 2; k++) { /* the index of a shard: two chunks of 16 bytes */
        const uint64_t entry[2] = {16 * k, 16};
        memcpy(text + n, entry, sizeof entry);
        n += (int)sizeof entry;
    }
    fuzz_write(path, (const uint8_t *)text, (size_t)n + 4);
    return true;
}
