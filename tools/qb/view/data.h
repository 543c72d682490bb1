/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/quickbeam.h"
#include "server.h"

/* The data that is shown: one stack of images, or two stacks of the same shape, whose difference is shown, too. */
typedef struct view_data view_data;

/* Opens one or two files; `paths[1]` may be NULL. The paths must stay valid until view_data_close(). */
qb_status view_data_open(const char *const paths[2], const char *dataset, view_data **data);
/* Describes file `which`; NULL: there are fewer files. */
const qb_array_info *view_data_info(const view_data *data, int which);
void view_data_close(view_data *data); /* NULL-safe */

/* Answers a request of the page by the table in data.c; `data` is a view_data. */
view_answer view_data_answer(void *data, const char *path, const char *query, const volatile sig_atomic_t *gone);
view_lane view_data_lane(void *data, const char *path, const char *query);
