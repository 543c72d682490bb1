/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"

int qb__natural_compare(const char *a, const char *b) {
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (*a == '0' && isdigit((unsigned char)a[1])) a++;
            while (*b == '0' && isdigit((unsigned char)b[1])) b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            if (n != m) return n < m ? -1 : 1;
            int order = strncmp(a, b, n);
            if (order) return order;
            a += n;
            b += n;
        } else {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

static int compare(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    int order = qb__natural_compare(*x, *y);
    return order ? order : strcmp(*x, *y);
}

static bool has_extension(const char *name, const char *extensions) {
    char key[16] = " ";
    const char *dot = strrchr(name, '.');
    if (!dot || strlen(dot) > 10 || name[0] == '.') return false;
    size_t n = 1;
    for (; *dot; dot++) key[n++] = (char)tolower((unsigned char)*dot);
    key[n++] = ' ';
    key[n] = 0;
    return strstr(extensions, key) != NULL;
}

/* Are two names the same but for their numbers? */
static bool same_series(const char *a, const char *b) {
    while (*a && *b) {
        size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
        if (n && m) {
            a += n;
            b += m;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* A run may have been killed while images got their names, or their folder its own. */
static void settle(const char *path) {
    if (access(path, F_OK) == 0) {
        qb__recover(path, false, NULL);
        return;
    }
    char *name = qb__strdup(path);
    for (size_t n = name ? strlen(name) : 0; n > 1 && name[n - 1] == '/';) name[--n] = 0;
    char *folder = name ? qb__folder_of(name) : NULL;
    if (folder) qb__recover(folder, false, NULL);
    qb__free(folder);
    qb__free(name);
}

static qb_status list_folder(const char *path, const char *extensions, qb__notes *files) {
    settle(path);
    DIR *folder = opendir(path);
    if (!folder) return qb__fail_errno(errno, "opening the folder", path);
    size_t n = strlen(path);
    const char *slash = n && path[n - 1] == '/' ? "" : "/";
    for (struct dirent *entry; (entry = readdir(folder));)
        if (has_extension(entry->d_name, extensions))
            qb__note(files, "%s%s%s", path, slash, entry->d_name);
    closedir(folder);
    return QB_OK;
}

/* Two series in one folder are projections and flats more often than not: never mixed unasked. */
static qb_status check_series(const char *path, const qb__notes *files) {
    for (size_t i = 1; i < files->count; i++)
        if (!same_series(files->text[0], files->text[i]))
            return qb__fail(QB_BAD_INPUT,
                            "%s holds more than one series of images, %s and %s: give a pattern "
                            "such as name_*.tif",
                            path, strrchr(files->text[0], '/') + 1,
                            strrchr(files->text[i], '/') + 1);
    return QB_OK;
}

/* name_%05d.tif as the glob name_*.tif; what is no number at that place is left out later. */
static bool glob_of(const char *path, char *pattern, size_t size, size_t *prefix, size_t *suffix) {
    const char *percent = strchr(path, '%');
    if (!percent) return false;
    const char *end = percent + 1 + strspn(percent + 1, "0123456789");
    if ((*end != 'd' && *end != 'i' && *end != 'u') || strchr(end, '%')) return false;
    *prefix = (size_t)(percent - path);
    *suffix = strlen(end + 1);
    return (size_t)snprintf(pattern, size, "%.*s*%s", (int)*prefix, path, end + 1) < size;
}

static qb_status list_pattern(const char *path, qb__notes *files) {
    char pattern[4096];
    size_t prefix = 0, suffix = 0;
    char *folder = qb__folder_of(path);
    if (folder) qb__recover(folder, false, NULL);
    qb__free(folder);
    bool numbered = glob_of(path, pattern, sizeof pattern, &prefix, &suffix);
    glob_t found;
    int failed = glob(numbered ? pattern : path, GLOB_NOSORT, NULL, &found);
    if (failed == GLOB_NOSPACE) return qb__fail(QB_NO_MEMORY, "%s: too many names", path);
    if (failed) return QB_OK;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i];
        size_t n = strlen(name);
        size_t digits = n > prefix + suffix ? n - prefix - suffix : 0;
        if (!numbered || (digits && strspn(name + prefix, "0123456789") >= digits))
            qb__note(files, "%s", name);
    }
    globfree(&found);
    return QB_OK;
}

qb_status qb__list_images(const char *path, const char *extensions, qb__notes *files) {
    qb_status status = QB_OK;
    *files = (qb__notes){0};
    bool folder = qb__is_folder(path);
    if (folder)
        QB__TRY(list_folder(path, extensions, files));
    else if (qb__is_pattern(path))
        QB__TRY(list_pattern(path, files));
    else
        qb__note(files, "%s", path);
    if (files->lost) {
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for the names of its files", path);
        goto out;
    }
    if (files->count == 0) {
        status =
            qb__fail(QB_NOT_FOUND, folder ? "%s holds no image files" : "no file matches %s", path);
        goto out;
    }
    qsort(files->text, files->count, sizeof *files->text, compare);
    if (folder) status = check_series(path, files);
out:
    if (status != QB_OK) qb__notes_release(files);
    return status;
}

/* The number that stands last in a name, behind its folder; false where there is none, or too long a one. */
static bool last_number(const char *path, unsigned long long *number) {
    const char *name = strrchr(path, '/'), *end;
    name = name ? name + 1 : path;
    end = strrchr(name, '.');
    if (!end) end = name + strlen(name);
    while (end > name && !isdigit((unsigned char)end[-1])) end--;
    const char *at = end;
    while (at > name && isdigit((unsigned char)at[-1])) at--;
    if (at == end || end - at > 18) return false;
    *number = strtoull(at, NULL, 10);
    return true;
}

static qb_status check_numbers(const char *path, const qb__notes *files, char *trouble, size_t size) {
    unsigned long long first, last, next, step = 0;
    if (files->count < 3 || !last_number(files->text[0], &first)) return QB_OK;
    last = first;
    for (size_t i = 1; i < files->count; i++) {
        if (!last_number(files->text[i], &next) || next <= last) return QB_OK; /* no numbering that we know */
        if (!step || next - last < step) step = next - last;
        last = next;
    }
    if ((last - first) / step + 1 == files->count) return QB_OK;
    const size_t missing = (size_t)((last - first) / step + 1) - files->count;
    unsigned long long hole = first;
    for (size_t i = 0; i < files->count && last_number(files->text[i], &next) && next == hole; i++) hole += step;
    if (strchr(path, '%'))
        return qb__fail(QB_BAD_INPUT,
                        "%s: number %llu is missing, %zu in all: views lie evenly only where none is; give a glob such as name_*.tif "
                        "to take those that are there, and their angles",
                        path, hole, missing);
    snprintf(trouble, size, "number %llu is missing among its files, %zu in all: FROM:TO spreads the others evenly", hole, missing);
    return QB_OK;
}

qb_status qb__source_files(qb__source *source, const char *extensions, qb__notes *files) {
    qb_status status = qb__list_images(source->path, extensions, files);
    return status == QB_OK ? check_numbers(source->path, files, source->trouble, sizeof source->trouble) : status;
}
