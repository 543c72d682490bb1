/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_PARAM_H
#define QUICKBEAM_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An option is declared once, as a row of a table; the flag, its help, its range check, the key in a
 * configuration file and the line in the provenance all come from that row. */
typedef enum qb_param_type {
    QB_PARAM_FLAG,    /* bool; --name and --no-name */
    QB_PARAM_INT,     /* int */
    QB_PARAM_BYTES,   /* size_t; 512M, 8G, 1.5GiB */
    QB_PARAM_DOUBLE,  /* double */
    QB_PARAM_TEXT,    /* char *, owned, NULL when unset */
    QB_PARAM_CHOICE,  /* int, the index into `choices` */
    QB_PARAM_NUMBERS, /* qb_numbers, comma-separated */
} qb_param_type;

typedef struct qb_numbers {
    int count;
    double value[8];
} qb_numbers;

typedef struct qb_param {
    const char *name;     /* "filter": --filter, config key, provenance key */
    qb_param_type type;
    size_t offset;        /* of the field in the options struct */
    const char *meta;     /* what stands for the value in the help: "COLUMN|auto" */
    const char *initial;  /* the default, as text; NULL = unset, 0 or false */
    const char *choices;  /* QB_PARAM_CHOICE: "zero|edge|mirror" */
    double min, max;      /* checked when min < max, for every number of the value */
    const char *help;     /* one sentence with the unit */
    char letter;          /* short flag, 0 = none */
} qb_param;

/* A table ends with a row whose name is NULL. */

/* Fill `options` with the table's defaults. Text fields are allocated; release with qb_params_clear. */
QB_API qb_status qb_params_init(const qb_param *table, void *options);
QB_API void qb_params_clear(const qb_param *table, void *options);
/* Copy all fields, texts too; `to` is overwritten, not released. */
QB_API qb_status qb_params_copy(const qb_param *table, const void *from, void *to);
QB_API const qb_param *qb_param_find(const qb_param *table, const char *name);
/* Set one field from text. QB_BAD_ARGUMENT with the flag, the value and what is allowed. For a flag,
 * NULL or "true" sets it and "false" clears it. */
QB_API qb_status qb_param_set(const qb_param *row, void *options, const char *value);
/* The field's present value as text, as qb_param_set would take it, into text[size]; false when
 * unset. */
QB_API bool qb_param_get(const qb_param *row, const void *options, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
