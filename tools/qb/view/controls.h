/* SPDX-License-Identifier: MIT */
#pragma once

#include "../cli.h"

/* The controls of the page for a reconstruction, and the options that their changes become. */

enum { VIEW_CHANGES_MOST = 8, VIEW_CHANGE_SIZE = 64 };

typedef struct view_control view_control;

/* Changes made on the page: options that differ from those of the command line. */
typedef struct view_changes {
    int count;
    struct {
        const view_control *control;
        char value[VIEW_CHANGE_SIZE];
    } of[VIEW_CHANGES_MOST];
} view_changes;

/* Reads NAME=VALUE for each control of qb fbp, or of qb fdk where `cone` is set, in the order of the controls. Refuses
 * values that no slider gives, above all file names: returns false, and `words` says why. */
bool view_changes_read(bool cone, const char *query, view_changes *changes, char *words, size_t size);
/* Writes the changes as one text. Equal changes give equal texts. */
void view_changes_key(const view_changes *changes, char *key, size_t size);
/* Only those changes that alter the line integrals. */
view_changes view_changes_of_preparation(const view_changes *changes);

/* True where slices are made by qb tv in place of qb fbp. */
bool view_changes_ask_tv(const view_changes *changes);

/* Options of one picture. The struct owns its texts. */
typedef struct view_options_of {
    qb_prep_options prep;
    qb_geometry_options geometry;
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    /* Options of qb tv; where tv is asked for, size, voxel, units and axis are those of `fbp` */
    qb_iterative_options tv;
} view_options_of;
qb_status view_options_make(const cli *c, bool cone, const view_changes *changes, view_options_of *made);
void view_options_clear(view_options_of *made);

/* [{"name", "label", "kind", "low", "high", "step", "choices", "value"}]. `fixed`: without controls of the axis and the
 * detector. `prepared`: without controls of the preparation and of tv. */
cJSON *view_controls_json(const cli *c, bool cone, bool fixed, bool prepared, const qb_scan_info *info);

/* The command that makes the volume; NULL: out of memory. The caller frees it by free(). */
char *view_command(const cli *c, bool cone, const view_changes *changes, const char *output);
