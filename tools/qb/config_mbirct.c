/* SPDX-License-Identifier: MIT */
/* Reads BASE.reconparams, the reconstruction parameters of sv-mbirct, as a configuration of qb mbir: one `Name: value`
 * per line, in any order. A parameter that the file leaves out has sv-mbirct's default, not that of qb mbir. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { NEAREST, DIAGONAL, INTERSLICE, PRIOR, SIGMA_X, WEIGHTS, RELAX, P, Q, T, PLAIN };

/* Names of the parameters in the file, sv-mbirct's defaults, and the option of qb mbir that is the same parameter;
 * NULL: there is no such option. */
static const struct {
    const char *name, *initial, *option;
} fields[] = {
    [NEAREST] = {"b_nearest", "1", NULL},
    [DIAGONAL] = {"b_diag", "0.707", NULL},
    [INTERSLICE] = {"b_interslice", "1", NULL},
    [PRIOR] = {"PriorModel", NULL, NULL},
    [SIGMA_X] = {"SigmaX", "0.02", NULL},
    [WEIGHTS] = {"weightType", "1", NULL},
    [RELAX] = {"RelaxFactor", "1", NULL},
    [P] = {"p", "1.2", "p"},
    [Q] = {"q", "2", "q"},
    [T] = {"T", "0.1", "threshold"},
    [PLAIN] = {"InitImageValue", "0.0202527", "start"},
    {"SigmaY", "1", "sigma-y"},
    {"StopThreshold", "1", "stop"},
    {"MaxIterations", "20", "equits"},
    {"Positivity", "1", "positivity"},
};
enum { FIELDS = sizeof fields / sizeof fields[0], VALUE_ROOM = 80 };

typedef struct parameters {
    const char *path;
    char value[FIELDS][VALUE_ROOM];
    int line[FIELDS]; /* line of each parameter in the file; 0: left out */
} parameters;

bool is_mbirct_config(const char *path) {
    static const char end[] = ".reconparams";
    const size_t n = strlen(path), word = strlen(end);
    return n > word && strcmp(path + n - word, end) == 0;
}

/* ---- the file ---- */

static qb_status take_field(parameters *p, char *line, int number) {
    char name[VALUE_ROOM] = "", value[VALUE_ROOM] = "", more[2];
    char *colon = strchr(line, ':');
    if (line[strspn(line, " \t\r\n")] == 0) return QB_OK;
    if (colon) *colon = 0;
    if (!colon || sscanf(line, "%79s %1s", name, more) != 1 || sscanf(colon + 1, "%79s %1s", value, more) != 1)
        return complain(QB_BAD_INPUT, "%s line %d: expected `Name: value`", p->path, number);
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(name, fields[i].name) != 0) continue;
        if (p->line[i])
            return complain(QB_BAD_INPUT, "%s: %s stands in line %d and in line %d", p->path, name, p->line[i], number);
        p->line[i] = number;
        strcpy(p->value[i], value);
        return QB_OK;
    }
    return complain(QB_BAD_INPUT, "%s line %d: %s is no parameter of a reconstruction of sv-mbirct", p->path, number,
                    name);
}

static qb_status take_file(parameters *p, FILE *file) {
    char line[4096];
    qb_status status = QB_OK;
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].initial) strcpy(p->value[i], fields[i].initial);
    for (int number = 1; status == QB_OK && fgets(line, sizeof line, file); number++)
        status = strlen(line) + 1 == sizeof line ? complain(QB_BAD_INPUT, "%s line %d is too long", p->path, number)
                                                 : take_field(p, line, number);
    if (status == QB_OK && ferror(file)) status = complain(QB_IO, "reading %s: %s", p->path, strerror(errno));
    return status;
}

/* ---- as options ---- */

static qb_status set(cli *c, const parameters *p, int field, const char *name, const char *value) {
    qb_status status = set_from_config(c, name, value);
    char why[512];
    if (status == QB_OK) return status;
    snprintf(why, sizeof why, "%s", complaint());
    return complain(status, "%s: %s: %s", p->path, fields[field].name, why);
}

static qb_status set_prior(cli *c, const parameters *p) {
    const char *model = p->value[PRIOR];
    char neighbours[3 * VALUE_ROOM];
    if (strcmp(model, "PandP") == 0) return set(c, p, SIGMA_X, "sigma-p", p->value[SIGMA_X]);
    if (strcmp(model, "QGGMRF") != 0)
        return complain(QB_BAD_INPUT, "%s: PriorModel is %s, which should be QGGMRF or PandP", p->path,
                        *model ? model : "left out");
    snprintf(neighbours, sizeof neighbours, "%s,%s,%s", p->value[NEAREST], p->value[DIAGONAL], p->value[INTERSLICE]);
    qb_status status = set(c, p, SIGMA_X, "sigma-x", p->value[SIGMA_X]);
    return status == QB_OK ? set(c, p, NEAREST, "neighbours", neighbours) : status;
}

/* weightType 0 means a file of weights. Only the command line can name that file; without it the run reports that there
 * is no file FILE. */
static qb_status set_weights(cli *c, const parameters *p) {
    static const char *const rules[] = {"FILE (weightType 0)", "unweighted", "transmission", "transmission_root",
                                        "emission"};
    const char *text = p->value[WEIGHTS];
    if (strlen(text) != 1 || text[0] < '0' || text[0] > '4')
        return complain(QB_BAD_INPUT, "%s: weightType is %s, which should be 0 to 4", p->path, text);
    return set(c, p, WEIGHTS, "weights", rules[text[0] - '0']);
}

static qb_status set_all(cli *c, const parameters *p) {
    char *end;
    qb_status status = QB_OK;
    if (strtod(p->value[RELAX], &end) != 1 || *end)
        return complain(QB_UNSUPPORTED, "%s: RelaxFactor is %s: steps here are whole ones, RelaxFactor 1", p->path,
                        p->value[RELAX]);
    for (int i = strcmp(p->value[PRIOR], "PandP") == 0 ? PLAIN : P; i < FIELDS && status == QB_OK;
         i++) { /* a proximal map has no p, q, T */
        const char *value = p->value[i];
        if (strcmp(fields[i].option, "positivity") == 0) {
            if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
                return complain(QB_BAD_INPUT, "%s: Positivity is %s, which should be 0 or 1", p->path, value);
            value = *value == '1' ? "true" : "false";
        }
        status = set(c, p, i, fields[i].option, value);
    }
    /* sv-mbirct uses the CenterOffset of the file, too */
    if (status == QB_OK) status = set(c, p, PLAIN, "center", "stated");
    if (status == QB_OK) status = set_weights(c, p);
    return status == QB_OK ? set_prior(c, p) : status;
}

qb_status read_mbirct_config(cli *c, const char *path, FILE *file) {
    parameters p = {.path = path};
    if (strcmp(c->verb->name, "mbir") != 0)
        return complain(QB_BAD_ARGUMENT, "%s has parameters of qb mbir, not of qb %s", path, c->verb->name);
    qb_status status = take_file(&p, file);
    return status == QB_OK ? set_all(c, &p) : status;
}
