/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_CONTROLS_H
#define QB_VIEW_CONTROLS_H

#include "../cli.h"

/* What the page may change of a reconstruction, and which options the changes become. */

enum { VIEW_CHANGES_MOST = 8, VIEW_CHANGE_SIZE = 64 };

typedef struct view_control view_control;

/* Options that differ from those of the command line. */
typedef struct view_changes {
    int count;
    struct {
        const view_control *control;
        char value[VIEW_CHANGE_SIZE];
    } of[VIEW_CHANGES_MOST];
} view_changes;

/* NAME=VALUE for any control of qb fbp or fdk (`cone`), in the order of the controls. False, and why in `words`, for a value that
 * no slider gives: above all for the name of a file. */
bool view_changes_read(bool cone, const char *query, view_changes *changes, char *words, size_t size);
/* As one text, the same for the same changes. */
void view_changes_key(const view_changes *changes, char *key, size_t size);
/* Those alone that change what line integrals are. */
view_changes view_changes_of_preparation(const view_changes *changes);

/* Slices of qb tv in place of qb fbp. */
bool view_changes_ask_tv(const view_changes *changes);

/* Options of one picture; texts are its own. */
typedef struct view_options_of {
    qb_prep_options prep;
    qb_geometry_options geometry;
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    qb_iterative_options tv; /* with what it has in common with fbp, where tv is asked for */
} view_options_of;
qb_status view_options_make(const cli *c, bool cone, const view_changes *changes, view_options_of *made);
void view_options_clear(view_options_of *made);

/* [{"name", "label", "kind", "low", "high", "step", "choices", "value"}]; without those of axis and detector where these are fixed, and of preparation where it is done. */
cJSON *view_controls_json(const cli *c, bool cone, bool fixed, bool prepared, const qb_scan_info *info);

/* The command that makes the volume; NULL: no memory. For free(). */
char *view_command(const cli *c, bool cone, const view_changes *changes, const char *output);

#endif
