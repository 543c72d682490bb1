/* SPDX-License-Identifier: MIT */
#pragma once

#include "../cli.h"
#include "server.h"

/* What is shown: the functions of a view_server that differ between verbs. */
typedef struct view_shown {
    view_lane (*lane)(void *user, const char *path, const char *query);
    view_answer (*answer)(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone);
    bool (*over)(void *user); /* true once there is nothing to show any more; NULL: never */
    void *user;
} view_shown;

/* Called before long work: checks that there is a server and that its address is valid. */
qb_status view_prepare(cli *c, view_serve_fn **serve);
/* Prints the address, and serves until the command is interrupted or shown->over() is true. */
qb_status view_serve(cli *c, view_serve_fn *serve, const view_shown *shown);
