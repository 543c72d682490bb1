/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "crop.h"

static _Thread_local char said[1024];

qb_status complain(qb_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return status;
}

const char *complaint(void) { return said[0] ? said : qb_detail(); }

qb_status init_options(cli *c) {
    for (const section *s = c->verb->sections; s->table; s++) {
        qb_status status = (qb_params_init)(s->table, (char *)&c->options + s->offset, s->size);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

void clear_options(cli *c) {
    for (const section *s = c->verb->sections; s->table; s++)
        qb_params_clear(s->table, (char *)&c->options + s->offset);
}

const qb_param *find_row(cli *c, const char *name, char letter, void **target) {
    for (const section *s = c->verb->sections; s->table; s++) {
        for (const qb_param *row = s->table; row->name; row++) {
            if (name ? strcmp(row->name, name) != 0 : row->letter != letter) continue;
            *target = (char *)&c->options + s->offset;
            return row;
        }
    }
    return NULL;
}

static size_t distance(const char *a, const char *b) {
    size_t row[64], n = strlen(b);
    if (n >= 63) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            size_t best = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            row[j + 1] = change < best ? change : best;
        }
    }
    return row[n];
}

/* What the verb offers in place of an option that only other verbs have; NULL: nothing. */
static const char *remedy_of(const verb *of, const char *flag) {
    static const struct {
        qb_status (*of)(cli *c);
        const char *flag, *remedy;
    } rows[] = {{cmd_iterative, "slices", "give --size NX,NY,N and --offset 0,0,Z for N slices around Z mm"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].of == of->run && strcmp(rows[i].flag, flag) == 0) return rows[i].remedy;
    return NULL;
}

static bool is_option_of(const char *name, const char *flag) {
    for (const section *s = find_verb(name)->sections; s->table; s++)
        if (qb_param_find(s->table, flag)) return true;
    return false;
}

static qb_status unknown(cli *c, const char *dashes, const char *flag) {
    const char *closest = NULL, *remedy = dashes[1] ? remedy_of(c->verb, flag) : NULL;
    if (remedy) return complain(QB_BAD_ARGUMENT, "qb %s has no option --%s: %s", c->verb->name, flag, remedy);
    if (dashes[1] && strcmp(c->verb->name, "view") == 0 && (is_option_of("fbp", flag) || is_option_of("fdk", flag)))
        return complain(QB_BAD_ARGUMENT, "--%s is an option of qb view --reconstruct: give --reconstruct, too", flag);
    const size_t length = strlen(flag);
    /* No option name is close to a single letter, so none is suggested for "-x". */
    size_t least = !dashes[1] ? 0 : length < 4 ? length : 4;
    for (const section *s = c->verb->sections; s->table; s++) {
        for (const qb_param *row = s->table; row->name; row++) {
            size_t d = distance(flag, row->name);
            if (d < least) least = d, closest = row->name;
            if (dashes[1] && length == 1 && row->letter == flag[0]) least = 0, closest = row->name;
        }
    }
    return complain(QB_BAD_ARGUMENT, "qb %s has no option %s%s%s%s%s", c->verb->name, dashes, flag,
                    closest ? "; did you mean --" : "", closest ? closest : "", closest ? "?" : "");
}

/* Appends one item to the value of a list option; items are separated by line ends. */
static qb_status add_item(const qb_param *row, void *target, const char *value) {
    const char *had = *(char **)((char *)target + row->offset);
    if (!had || !value) return qb_param_set(row, target, value);
    const size_t bytes = strlen(had) + strlen(value) + 2;
    char *all = malloc(bytes);
    if (!all) return complain(QB_NO_MEMORY, "--%s: no memory for its value", row->name);
    snprintf(all, bytes, "%s\n%s", had, value);
    const qb_status status = qb_param_set(row, target, all);
    free(all);
    return status;
}

qb_status give_option(cli *c, const qb_param *row, void *target, const char *value) {
    bool again = false;
    for (int i = 0; i < c->given_count; i++) {
        if (c->given[i] != row) continue;
        if (i < c->by_flags) return QB_OK;
        again = true;
    }
    if (!again && c->given_count < GIVEN_MAX) c->given[c->given_count++] = row;
    if (again && row->type != QB_PARAM_LIST && row->type != QB_PARAM_FLAG)
        return complain(QB_BAD_ARGUMENT, "--%s is given twice: %s", row->name,
                        strcmp(row->name, "sweep") == 0 ? "one run sweeps one option" : "leave one out");
    command_option(c, row, value);
    if (crop_asked(c, row, value)) return QB_OK;
    return again && row->type == QB_PARAM_LIST ? add_item(row, target, value) : qb_param_set(row, target, value);
}

/* Refuses "-center": read as single-letter options it would be "-c" with the value "enter". */
static qb_status check_dashes(cli *c, const char *word) {
    char name[64];
    void *target;
    const size_t n = strcspn(word + 1, "=");
    if (n < 2 || n >= sizeof name) return QB_OK;
    snprintf(name, sizeof name, "%.*s", (int)n, word + 1);
    if (!find_row(c, name, 0, &target)) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "%.*s has one dash: give --%s", (int)n + 1, word, name);
}

/* Takes one flag at argv[i]. Its value stands behind "=" or is the next word; *i moves to the last word that was
 * used. */
static qb_status take_flag(cli *c, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    char name[64];
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    void *target;
    const qb_param *row;
    if (word[1] == '-') {
        size_t n = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word + 2);
        row = find_row(c, name, 0, &target);
        if (!row && strncmp(name, "no-", 3) == 0 && !value) {
            row = find_row(c, name + 3, 0, &target);
            if (row && row->type != QB_PARAM_FLAG) row = NULL;
            value = "false";
        }
    } else {
        const qb_status status = check_dashes(c, word);
        if (status != QB_OK) return status;
        snprintf(name, sizeof name, "%.1s", word + 1);
        value = word[2] ? word + 2 : NULL;
        row = find_row(c, NULL, word[1], &target);
    }
    if (!row) return unknown(c, word[1] == '-' ? "--" : "-", name);
    if (row->type != QB_PARAM_FLAG && !value) {
        if (*i + 1 == argc) return complain(QB_BAD_ARGUMENT, "--%s needs a value", row->name);
        value = argv[++*i];
    }
    return give_option(c, row, target, value);
}

static qb_status take_config(cli *c, int argc, char **argv, int first) {
    for (int i = first; i < argc; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0) return read_config(c, argv[i] + 9);
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) return read_config(c, argv[i + 1]);
    }
    return QB_OK;
}

qb_status parse_arguments(cli *c, int argc, char **argv) {
    qb_status status = QB_OK;
    bool only_arguments = false;
    c->given_count = c->by_flags = 0;
    for (int i = 0; status == QB_OK && i < argc; i++) {
        const char *word = argv[i];
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && word[0] == '-' && word[1]) {
            status = take_flag(c, argc, argv, &i);
        } else if (c->count == c->verb->most) {
            status = complain(QB_BAD_ARGUMENT, "qb %s takes %d argument%s; %s is one too many", c->verb->name,
                              c->verb->most, c->verb->most == 1 ? "" : "s", word);
        } else {
            c->argument[c->count++] = word;
            command_argument(c, word);
        }
    }
    c->by_flags = c->given_count;
    if (status == QB_OK) status = take_config(c, argc, argv, 0);
    const qb_status ended = command_end(c);
    if (status == QB_OK) status = ended;
    if (status == QB_OK && c->count < c->verb->fewest && !c->options.run.help)
        status = complain(QB_BAD_ARGUMENT, "usage: qb %s %s (see qb %s --help)", c->verb->name, c->verb->arguments,
                          c->verb->name);
    return status;
}
