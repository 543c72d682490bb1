/* SPDX-License-Identifier: MIT */
#include "device/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *qb__library_open(const char *override, const char *const *names, char *why, size_t why_size) {
    const char *only = getenv(override);
    if (only && !*only) {
        snprintf(why, why_size, "left out by %s=\"\"", override);
        return NULL;
    }
    if (only) {
        void *library = dlopen(only, RTLD_NOW | RTLD_LOCAL);
        const char *error = library ? NULL : dlerror();
        if (!library) snprintf(why, why_size, "%s: %s", override, error ? error : only);
        return library;
    }
    for (size_t i = 0; names[i]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    snprintf(why, why_size, "%s is not there", names[0]);
    return NULL;
}

bool qb__library_symbols(void *library, const char *const *names, size_t count, void *table,
                         const char **missing) {
    char *slots = table;
    for (size_t i = 0; i < count; i++) {
        bool optional = names[i][0] == '?';
        void *symbol = dlsym(library, names[i] + optional);
        if (!symbol && !optional) {
            *missing = names[i];
            return false;
        }
        /* A function pointer's bytes: ISO C has no cast for it. */
        memcpy(slots + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return true;
}
