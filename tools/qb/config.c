/* SPDX-License-Identifier: MIT */
/* Configuration files: one "name = value" per line; # starts a remark. --save-config writes such a file and --config
 * reads it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

/* Options that a configuration does not hold: those about the configuration itself, and the names of outputs, because a
 * second run would overwrite the outputs of the first. */
static bool stays_out(const char *name) {
    static const char *const names[] = {"config", "save-config", "help", "output", "preview", "truth", "geometry-out"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static char *trim(char *text) {
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && strchr(" \t\r\n", text[n - 1]); n--) text[n - 1] = 0;
    return text;
}

qb_status set_from_config(cli *c, const char *name, const char *value) {
    for (const section *s = c->verb->sections; s->table; s++) {
        const qb_param *row = qb_param_find(s->table, name);
        if (!row) continue;
        if (stays_out(name))
            return complain(QB_BAD_ARGUMENT, "a configuration does not say --%s: give it on the command line", name);
        qb_status status = give_option(c, row, (char *)&c->options + s->offset, value);
        return status == QB_OK || complaint() != qb_detail() ? status : complain(status, "%s", qb_detail());
    }
    return complain(QB_BAD_ARGUMENT, "qb %s has no option %s", c->verb->name, name);
}

static qb_status take_line(cli *c, char *line, const char *path, int number) {
    /* Skips the byte order mark that some editors write */
    if (number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3;
    char *remark = line[0] == '#' ? line : strstr(line, " #");
    if (remark) *remark = 0;
    char *name = trim(line);
    if (!*name) return QB_OK;
    char *equals = strchr(name, '=');
    if (!equals)
        return complain(QB_BAD_ARGUMENT, "%s line %d: expected name = value, as in center = 31.5", path, number);
    *equals = 0;
    char *value = trim(equals + 1);
    name = trim(name);
    qb_status status = set_from_config(c, name, value);
    if (status == QB_OK) return status;
    char why[512];
    snprintf(why, sizeof why, "%s", complaint());
    return complain(status, "%s line %d: %s", path, number, why);
}

qb_status read_config(cli *c, const char *path) {
    struct stat what;
    if (stat(path, &what) == 0 && !S_ISREG(what.st_mode))
        return complain(QB_BAD_INPUT, "the configuration %s is not a file", path);
    FILE *file = fopen(path, "re");
    if (!file)
        return complain(errno == ENOENT || errno == ENOTDIR ? QB_NOT_FOUND : QB_IO,
                        "cannot open the configuration %s: %s", path, strerror(errno));
    char line[4096];
    const bool theirs = is_mbirct_config(path);
    qb_status status = theirs ? read_mbirct_config(c, path, file) : QB_OK;
    for (int number = 1; !theirs && status == QB_OK && fgets(line, sizeof line, file); number++) {
        if (strlen(line) + 1 == sizeof line)
            status = complain(QB_BAD_INPUT, "%s line %d has more than %zu characters", path, number, sizeof line - 2);
        else
            status = take_line(c, line, path, number);
    }
    if (status == QB_OK && ferror(file))
        status = complain(QB_IO, "reading the configuration %s: %s", path, strerror(errno));
    fclose(file);
    return status;
}

char *print_config(const cli *c) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return NULL;
    fprintf(file, "# options of qb %s\n", c->verb->name);
    for (const section *s = c->verb->sections; s->table; s++) {
        fprintf(file, "\n# %s\n", s->title);
        for (const qb_param *row = s->table; row->name; row++) {
            char value[8192];
            if (stays_out(row->name)) continue;
            bool set = qb_param_get(row, (const char *)&c->options + s->offset, value, sizeof value);
            /* An option without a default whose value is 0 is not set */
            if (!row->initial && strcmp(value, "0") == 0) set = false;
            fprintf(file, "# %s\n", row->help);
            for (const char *item = value; item;
                 /* A list has one item per line; other values are one item */
                 item = strchr(item, '\n') ? strchr(item, '\n') + 1 : NULL)
                fprintf(file, "%s%s = %.*s\n", set ? "" : "#", row->name, (int)strcspn(item, "\n"), item);
        }
    }
    bool bad = ferror(file) != 0;
    if (fclose(file) == 0 && !bad) return text;
    free(text);
    return NULL;
}
