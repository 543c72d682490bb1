/* SPDX-License-Identifier: MIT */
/* Paths of measured scans: QB_DATA, else the folder that this build was told. */
#ifndef QB_TESTS_MEASURED_H
#define QB_TESTS_MEASURED_H

#include <unistd.h>

#include "check.h"

/* One of four static buffers in turn. */
static const char *measured(const char *name) {
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    const char *folder = getenv("QB_DATA");
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : QB_TEST_DATA, name);
    return path;
}

/* For what is made, not measured: skips the test, by name, where Python could not make it. */
static void needs(const char *name) {
    if (access(measured(name), R_OK) == 0) return;
    print_message("%s has not been made (tests/data/more.py)\n", name);
    skip();
}

#endif
