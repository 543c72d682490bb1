/* SPDX-License-Identifier: MIT */
/* Paths of measured scans. They lie in the folder that QB_DATA names, or else in the folder that this build was
 * given. */
#ifndef QB_TESTS_MEASURED_H
#define QB_TESTS_MEASURED_H

#include <unistd.h>

#include "check.h"

/* The path of a file of the data folder. It is one of four static buffers, used in turn. */
static const char *measured(const char *name) {
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    const char *folder = getenv("QB_DATA");
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : QB_TEST_DATA, name);
    return path;
}

/* For files that a script makes. Skips the test, and names the file, where Python could not make it. */
static void needs(const char *name) {
    if (access(measured(name), R_OK) == 0) return;
    print_message("%s has not been made (tests/data/more.py)\n", name);
    skip();
}

#endif
