/* SPDX-License-Identifier: MIT */
#include "io/formats.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/publish/paths.h"

/* Endings of settings files; where the ending is used for other files, too, a word in them, and one that is not. */
static const struct {
    const char *ending, *word, *without;
} kinds[] = {{".xtekct", NULL, NULL},      {".pca", NULL, NULL},
             {".nsipro", NULL, NULL},      {".log", "Object to Source", "[Reconstruction]"},
             {".xml", "<Geometrie", NULL}, {".xml", "<ConeBeamScanParameter", NULL}};

static bool says(const char *path, const char *word, const char *without) {
    char text[1 << 16];
    struct stat about;
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rbe") : NULL;
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    size_t used = 0;
    if (file) fclose(file);
    for (size_t i = 0; i < n; i++) /* every second byte of UTF-16 is 0 */
        if (text[i]) text[used++] = text[i];
    text[used] = 0;
    return strstr(text, word) && !(without && strstr(text, without));
}

static bool is_settings(const char *path) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcasecmp(dot, kinds[i].ending) == 0 && (!kinds[i].word || says(path, kinds[i].word, kinds[i].without)))
            return true;
    return false;
}

static size_t look_in(const char *folder, char *found, size_t size) {
    char path[4096];
    size_t count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path || !is_settings(path))
            continue;
        if ((size_t)snprintf(found, size, "%s", path) < size) count++;
    }
    if (open) closedir(open);
    return count;
}

bool qb__settings_near(const char *path, char *found, size_t size) {
    char *folder = qb__is_folder(path) ? qb__strdup(path) : qb__folder_of(path);
    size_t count = folder ? look_in(folder, found, size) : 0;
    char *above = folder && !count ? qb__folder_of(folder) : NULL;
    if (above) count = look_in(above, found, size);
    QB__FREE(above, folder);
    return count == 1;
}

bool qb__settings_in(const char *folder, char *found, size_t size) {
    return qb__is_folder(folder) && look_in(folder, found, size) == 1;
}
