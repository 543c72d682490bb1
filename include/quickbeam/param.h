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
    QB_PARAM_FLAG,    /* bool, true if the flag differs from its default; --name and --no-name */
    QB_PARAM_INT,     /* int */
    QB_PARAM_BYTES,   /* size_t; 512M, 8G, 1.5GiB */
    QB_PARAM_DOUBLE,  /* double */
    QB_PARAM_TEXT,    /* const char *, NULL when unset */
    QB_PARAM_CHOICE,  /* an enum: index into `choices` plus `min` */
    QB_PARAM_DTYPE,   /* qb_dtype, given by its name, one of `choices` */
    QB_PARAM_NUMBERS, /* qb_numbers, comma-separated */
    QB_PARAM_LIST,    /* const char *, one item per line; repeating the flag adds an item */
} qb_param_type;

typedef struct qb_numbers {
    int count;
    double value[8];
} qb_numbers;

typedef struct qb_param {
    const char *name; /* name of the flag (--filter), of the key in a configuration file and in the provenance */
    qb_param_type type;
    size_t offset;       /* offset of the field in the options struct */
    const char *meta;    /* name of the value in the help, such as "COLUMN|auto" */
    const char *initial; /* the default, as text; NULL = unset, 0 or false */
    /* QB_PARAM_CHOICE: the names, "edge|zero|mirror". Numbers: a word that is allowed instead, such as "auto", stored
     * as NAN (0 for an int) */
    const char *choices;
    double min, max;  /* allowed range of every number of the value; checked if min < max */
    const char *help; /* one sentence, with the unit */
    char letter;      /* short flag, 0 = none */
} qb_param;

/* A table ends with a row whose name is NULL. Its offset is the size of the struct; its min is the size of the struct
 * in the first library with this soname (before 1.0: the present size). */
#define QB_PARAMS_END(type)                                                                                            \
    { .offset = sizeof(type), .min = (double)sizeof(type) }

/* Rule for all structs of options: 0 is the default. A struct of zeros has the same effect as NULL. 0 of an enum,
 * false, a NULL text, an empty list and the number 0 all mean the default, whatever it is. If the default of a field is
 * another number, write the number 0 as QB_ZERO, the negative zero (for integers: -1):
 *
 *     qb_fbp_options options = {.center = "511.5", .checkpoint = QB_ZERO};  // no checkpoints for --resume
 *
 * Every struct begins with `size_t struct_size`, its size in bytes when the caller was compiled; qb_params_init sets
 * it. Later versions of the library append fields. struct_size tells which fields the caller has; the others have their
 * defaults. 0 means the fields of the first version with the library's soname.
 *
 * QB_BAD_ARGUMENT for a value that qb_param_set would refuse (not a number, out of range, not a member of the enum),
 * and for a size that the struct never had. QB_UNSUPPORTED for fields that the caller sets but this older library does
 * not know. */
#define QB_ZERO (-0.0)

/* Size in bytes of the table's struct, in this version of the library. */
QB_API size_t qb_params_size(const qb_param *table);
/* Fill options[size] with the defaults of the table; fields beyond `size` are left out. Text fields are allocated:
 * release them with qb_params_clear. Never assign them by hand, because qb_params_clear frees them. The macro with two
 * arguments uses the size of *options. QB_BAD_ARGUMENT for a size that the struct never had. */
QB_API qb_status qb_params_init(const qb_param *table, void *options, size_t size);
#define qb_params_init(table, options) (qb_params_init)((table), (options), sizeof *(options))
QB_API void qb_params_clear(const qb_param *table, void *options);
/* Copy all fields, also the texts, into a struct of the size qb_params_size. `to` is overwritten; its old texts are not
 * released. */
QB_API qb_status qb_params_copy(const qb_param *table, const void *from, void *to);
/* Set a field by the name of its option: qb_params_set(qb_fbp_params, &fbp, "center", "511.5"). Errors as in
 * qb_param_set; QB_BAD_ARGUMENT if there is no such option. */
QB_API qb_status qb_params_set(const qb_param *table, void *options, const char *name, const char *value);
/* The row of an option by its name; NULL if there is none. */
QB_API const qb_param *qb_param_find(const qb_param *table, const char *name);
/* Set one field from text. QB_BAD_ARGUMENT with the flag, the value and the allowed values if the value is wrong, or if
 * the caller's struct ends before the field. For a flag, NULL or "true" sets it and "false" clears it. */
QB_API qb_status qb_param_set(const qb_param *row, void *options, const char *value);
/* Write the present value of the field as text into text[size], in the form that qb_param_set accepts. A field of 0
 * gives its default. False if a text is NULL, or if there is no default. */
QB_API bool qb_param_get(const qb_param *row, const void *options, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
