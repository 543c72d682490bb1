/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
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
    const char *dot = qb__ending(name);
    if (!dot || strlen(dot) > 10 || name[0] == '.') return false;
    size_t n = 1;
    for (; *dot; dot++) key[n++] = (char)tolower((unsigned char)*dot);
    key[n++] = ' ';
    key[n] = 0;
    return strstr(extensions, key) != NULL;
}

/* Finish what a run may have left that was killed while images, or their folder, got their names. */
static void settle(const char *path) {
    if (access(path, F_OK) == 0) {
        qb__recover(path, false, NULL);
        return;
    }
    char *name = qb__strdup(path);
    for (size_t n = name ? strlen(name) : 0; n > 1 && name[n - 1] == '/';) name[--n] = 0;
    char *folder = name ? qb__folder_of(name) : NULL;
    if (folder) qb__recover(folder, false, NULL);
    QB__FREE(folder, name);
}

static qb_status list_folder(const char *path, const char *extensions, qb__notes *files) {
    settle(path);
    DIR *folder = opendir(path);
    if (!folder) return qb__fail_errno(errno, "opening the folder", path);
    size_t n = strlen(path);
    const char *slash = n && path[n - 1] == '/' ? "" : "/";
    for (struct dirent *entry; (entry = readdir(folder));)
        if (has_extension(entry->d_name, extensions)) qb__note(files, "%s%s%s", path, slash, entry->d_name);
    closedir(folder);
    return QB_OK;
}

/* A pattern with a number: name_%05d.tif is the glob name_*.tif, limited to names with a number there. Wildcards may be
 * before or after the number. */
typedef struct numbered {
    bool is;
    bool exact;            /* no wildcards */
    size_t prefix, suffix; /* length of the text before and after the number; 0: it has wildcards */
} numbered;

static qb_status parse_pattern(const char *path, char *pattern, size_t size, numbered *n) {
    static const char wild[] = "*?[";
    const char *percent = strchr(path, '%');
    *n = (numbered){0};
    if ((size_t)snprintf(pattern, size, "%s", path) >= size)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a pattern", path);
    if (!percent) return QB_OK;
    const char *end = percent + 1 + strspn(percent + 1, "0123456789");
    if ((*end != 'd' && *end != 'i' && *end != 'u') || strchr(end, '%')) return QB_OK;
    snprintf(pattern, size, "%.*s*%s", (int)(percent - path), path, end + 1);
    n->is = true;
    n->exact = !strpbrk(path, wild);
    n->prefix = strcspn(path, wild) < (size_t)(percent - path) ? 0 : (size_t)(percent - path);
    n->suffix = strpbrk(end, wild) ? 0 : strlen(end + 1);
    if (n->prefix || n->suffix) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: wildcards may stand before its number or behind it, not both", path);
}

/* Position of that number in a name; false if there is none. A '-' before it is its sign. */
static bool find_counter(const char *name, const numbered *p, qb__counter *counter) {
    const size_t n = strlen(name);
    *counter = (qb__counter){0};
    if (n <= p->prefix + p->suffix) return false;
    if (!p->prefix) {
        counter->end = n - p->suffix;
        return isdigit((unsigned char)name[counter->end - 1]);
    }
    counter->begin = p->prefix + (name[p->prefix] == '-');
    const size_t digits = strspn(name + counter->begin, "0123456789");
    return digits && (!p->exact || counter->begin + digits >= n - p->suffix);
}

static qb_status list_pattern(const char *path, numbered *p, qb__notes *files) {
    char pattern[4096];
    qb__counter unused;
    char *folder = qb__folder_of(path);
    if (folder) qb__recover(folder, false, NULL);
    qb__free(folder);
    QB__OR_RETURN(parse_pattern(path, pattern, sizeof pattern, p));
    glob_t found;
    int failed = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (failed == GLOB_NOSPACE) return qb__fail(QB_NO_MEMORY, "%s: too many names", path);
    if (failed) return QB_OK;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!p->is || find_counter(found.gl_pathv[i], p, &unused)) qb__note(files, "%s", found.gl_pathv[i]);
    globfree(&found);
    return QB_OK;
}

static bool begins_as_dicom(const char *folder, const char *name) {
    enum { PREAMBLE = 128 };
    char path[4096], head[PREAMBLE + 4] = "";
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return false;
    FILE *file = fopen(path, "rbe");
    const bool is = file && fread(head, 1, sizeof head, file) == sizeof head && !memcmp(head + PREAMBLE, "DICM", 4);
    if (file) fclose(file);
    return is;
}

/* Fail with what exists instead, as far as a name shows it. */
static qb_status no_images(const char *path, const char *extensions) {
    size_t count = 0;
    char name[64] = "";
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && count++ == 0) snprintf(name, sizeof name, "%.63s", entry->d_name);
    if (folder) closedir(folder);
    if (!count) return qb__fail(QB_NOT_FOUND, "the folder %s is empty", path);
    if (begins_as_dicom(path, name))
        return qb__fail(QB_NOT_FOUND, "%s holds DICOM files, such as %s: end their names in .dcm", path, name);
    char settings[1024];
    if (qb__settings_near(path, settings, sizeof settings))
        return qb__fail(QB_NOT_FOUND, "%s holds no image files (%s): give %s, the settings of a scanner", path,
                        extensions + 1, settings);
    return qb__fail(QB_NOT_FOUND,
                    "%s holds no image files (%s): of its %zu files one is %s; convert them to TIFF, or name one file",
                    path, extensions + 1, count, name);
}

/* List the files, and the number of each if `numbers` is not NULL. */
static qb_status list(const char *path, const char *extensions, qb__notes *files, long long **numbers) {
    qb_status status = QB_OK;
    numbered p = {0};
    qb__counter counter = {0};
    const bool folder = qb__is_folder(path), pattern = !folder && qb__is_pattern(path);
    *files = (qb__notes){0};
    if (numbers) *numbers = NULL;
    if (folder)
        QB__TRY(list_folder(path, extensions, files));
    else if (pattern)
        QB__TRY(list_pattern(path, &p, files));
    else
        qb__note(files, "%s", path);
    if (files->lost) QB__TRY(qb__fail(QB_NO_MEMORY, "%s: no memory for the names of its files", path));
    if (files->count == 0) {
        status = folder ? no_images(path, extensions) : qb__fail(QB_NOT_FOUND, "no file matches %s", path);
        goto out;
    }
    qsort(files->text, files->count, sizeof *files->text, compare);
    if (p.is) find_counter(files->text[0], &p, &counter);
    if (numbers) QB__TRY(qb__alloc(files->count, sizeof **numbers, numbers));
    if (folder || pattern) status = qb__list_order(path, &counter, files, numbers ? *numbers : NULL);
out:
    if (status == QB_OK) return QB_OK;
    if (numbers) {
        qb__free(*numbers);
        *numbers = NULL;
    }
    qb__notes_release(files);
    return status;
}

qb_status qb__list_images(const char *path, const char *extensions, qb__notes *files) {
    return list(path, extensions, files, NULL);
}

/* Report missing numbers: with FROM:TO the angles of the other files would be wrong. */
static qb_status check_numbers(const char *path, const qb__notes *files, const long long *number, char *trouble,
                               size_t size) {
    const size_t n = files->count;
    if (n < 3) return QB_OK;
    long long step = number[1] - number[0], hole;
    for (size_t i = 2; i < n; i++) step = number[i] - number[i - 1] < step ? number[i] - number[i - 1] : step;
    const long long missing = (number[n - 1] - number[0]) / step + 1 - (long long)n;
    if (missing <= 0) return QB_OK;
    hole = number[0];
    for (size_t i = 0; i < n && number[i] == hole; i++) hole += step;
    if (strchr(path, '%'))
        return qb__fail(QB_BAD_INPUT,
                        "%s: number %lld is missing (%lld numbers in all), so that its angles are not even: give a "
                        "glob such as name_*.tif to take the files that exist, and their angles",
                        path, hole, missing);
    snprintf(trouble, size,
             "number %lld is missing among its files (%lld numbers in all): --angles FROM:TO gives the others even "
             "steps" QB__CODE("file-missing"),
             hole, missing);
    return QB_OK;
}

qb_status qb__source_files(qb__source *source, const char *extensions, qb__notes *files) {
    long long *numbers;
    QB__OR_RETURN(list(source->path, extensions, files, &numbers));
    if (files->count > 1)
        snprintf(source->files, sizeof source->files, "%zu files, %.150s to %.150s", files->count,
                 qb__last_part(files->text[0]), qb__last_part(files->text[files->count - 1]));
    const qb_status status = check_numbers(source->path, files, numbers, source->trouble, sizeof source->trouble);
    qb__free(numbers);
    return status;
}
