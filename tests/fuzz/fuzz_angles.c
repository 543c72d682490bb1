/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

/* The first line of the input is appended to the file's name, the rest is the file. */
const char *const fuzz_name = "txt";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], text[160] = "";
    double radians[16];
    size_t n = 0;
    while (n < size && n < 64 && data[n] != '\n') n++;
    int used = snprintf(path, sizeof path, "/tmp/qb-fuzz-%ld.txt", (long)getpid());
    memcpy(text, path, (size_t)used);
    memcpy(text + used, data, n);
    FILE *file = fopen(path, "wb");
    if (!file) abort();
    if (n < size) fwrite(data + n + 1, 1, size - n - 1, file);
    fclose(file);
    for (size_t views = 1; views <= 16; views *= 4) {
        qb_angles_parse(text, views, radians);
        qb_angles_parse(text + used, views, radians);
        size_t first, end, step;
        qb_range_parse(text + used, "range", views, &first, &end, &step);
    }
    remove(path);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        ":2:0:8:2\nname\tangle\n\t\t\na\t1.5\t0\nb\t2.5\t0\nc\t3.5\t1\nd\t4.5\t2\n",
        "\n1\n2\n3\n4\n",
        "0:180:4\n",
        ":1\n0.5,1\n0.7,2\r\n# end\n0.9,3\n1.1,4\n",
        "\n\xef\xbb\xbfn,\"theta [mrad]\"\n0,1\n1,2\n2,3\n3,4\n",
        "\n TIME STAMP  IMAGE TYPE\n\nSun Feb 10 00:22:04 2019   Projection:  0  angle: 0.0   Monitor 3 before:  "
        "4577907\nSun Feb 10 00:22:37 2019   Projection:  1  angle: 0.3152   Monitor 3 before:  4729337\n",
        "\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
    };
    /* UTF-16 and NPY contain zero bytes. */
    static const char wide[] = "\n\xff\xfe"
                               "1\0\n\0"
                               "2\0\n\0"
                               "3\0\n\0"
                               "4\0\n\0",
                      npy[] = ":1\n\x93NUMPY\x01\0\x78\0{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2), }"
                              "                                                            \n"
                              "\1\2\3\4\5\6\7\10";
    const size_t texts = sizeof seeds / sizeof seeds[0];
    if (index >= texts + 2) return false;
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    if (index < texts)
        fputs(seeds[index], file);
    else if (index == texts)
        fwrite(wide, 1, sizeof wide - 1, file);
    else
        fwrite(npy, 1, sizeof npy - 1, file);
    return fclose(file) == 0;
}
