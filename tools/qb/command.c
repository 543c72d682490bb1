/* SPDX-License-Identifier: MIT */
/* Writes the command that repeats a run in any folder: file names are absolute, and the options of a configuration file
 * stand in place of the file's name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Writes a word that is not UTF-8 as $'...' with octal escapes, which bash, zsh and POSIX shells of 2024 read: the
 * command is kept in JSON, which is UTF-8. */
static void put_bytes(FILE *out, const char *word) {
    fputs("$'", out);
    for (size_t n; *word; word += n ? n : 1) {
        n = utf8_length(word);
        if (n == 0)
            fprintf(out, "\\%03o", (unsigned char)*word);
        else if (*word == '\'' || *word == '\\')
            fprintf(out, "\\%c", *word);
        else
            fwrite(word, 1, n, out);
    }
    putc('\'', out);
}

static void put_quoted(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    if (!is_utf8(word)) {
        put_bytes(out, word);
        return;
    }
    putc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
}

/* Is the value the name of a file? Some options always take a file, but for `none` where that is a word of theirs.
 * Options such as FILE|NAME take one where the file exists. */
static bool is_file(const qb_param *row, const char *value) {
    if (row->meta && strstr(row->meta, "|none") && strcmp(value, "none") == 0) return false;
    if (strcmp(row->name, "output") == 0 || strncmp(row->meta ? row->meta : "", "FILE", 4) == 0) return true;
    if (!row->meta || !strstr(row->meta, "FILE")) return false;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ":"), value);
    return access(name, F_OK) == 0;
}

static void put_file(cli *c, const char *folder, const char *name) {
    if (*name == '/' || !*folder) {
        put_quoted(c->words, name);
        return;
    }
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *whole = malloc(bytes);
    if (!whole) {
        c->lost = true;
        return;
    }
    snprintf(whole, bytes, "%s/%s", folder, name);
    put_quoted(c->words, whole);
    free(whole);
}

static FILE *words_of(cli *c) {
    if (!c->words && (c->words = open_memstream(&c->command, &c->command_bytes)))
        fprintf(c->words, "qb %s", c->verb->name);
    if (!c->words) c->lost = true;
    return c->words;
}

/* The current folder, where relative names begin; "" where the folder has no name. */
static const char *here(char folder[PATH_MAX]) { return getcwd(folder, PATH_MAX) ? folder : ""; }

void command_option(cli *c, const qb_param *row, const char *value) {
    char folder[PATH_MAX];
    FILE *out = words_of(c);
    if (!out || strcmp(row->name, "config") == 0 || strcmp(row->name, "save-config") == 0) return;
    /* Options of the server do not change what the command makes */
    if (c->verb->abilities & WRITES &&
        (qb_param_find(view_params, row->name) == row || qb_param_find(serve_params, row->name) == row))
        return;
    fprintf(out, " --%s", row->name);
    if (row->type == QB_PARAM_FLAG) {
        if (value) fprintf(out, "=%s", value);
        return;
    }
    putc(' ', out);
    put_file(c, is_file(row, value) ? here(folder) : "", value);
}

void command_argument(cli *c, const char *word) {
    char folder[PATH_MAX];
    FILE *out = words_of(c);
    if (!out) return;
    putc(' ', out);
    put_file(c, c->verb->abilities & WRITES ? here(folder) : "", word);
}

qb_status command_end(cli *c) {
    FILE *out = words_of(c);
    if (out) {
        c->lost = c->lost || ferror(out);
        c->lost = fclose(out) != 0 || c->lost;
        c->words = NULL;
    }
    return c->lost ? complain(QB_NO_MEMORY, "no memory for the command's words") : QB_OK;
}
