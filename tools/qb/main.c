/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "quickbeam/quickbeam.h"

int main(void) {
    printf("quickbeam %s\n%s", qb_version(), qb_build_summary());
    return 0;
}
