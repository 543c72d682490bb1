/* SPDX-License-Identifier: MIT */
/* Files of a scan of NSI: they are found by their names, in the folder of the settings or in the folders below it. */
#include "io/vendor/vendor.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool fits(const char *name, const char *begin, const char *end) {
    const size_t have = strlen(name), n = strlen(begin), m = end ? strlen(end) : 0;
    if (!end) return strcmp(name, begin) == 0;
    return have >= n + m && strncasecmp(name, begin, n) == 0 && strcasecmp(name + have - m, end) == 0;
}

size_t qb__nsi_find(const char *folder, bool below, const char *begin, const char *end, char *found, size_t size) {
    char path[QB__VENDOR_NAME], one[QB__VENDOR_NAME];
    size_t count = 0;
    DIR *open = opendir(folder);
    *found = 0;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (entry->d_name[0] == '.' || (!below && !fits(entry->d_name, begin, end))) continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= size) continue;
        const size_t more = below ? qb__nsi_find(path, false, begin, end, one, sizeof one) : 1;
        if (more) snprintf(found, size, "%s", below ? one : path);
        count += more;
    }
    if (open) closedir(open);
    return count;
}
