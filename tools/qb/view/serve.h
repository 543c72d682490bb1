/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_SERVE_H
#define QB_VIEW_SERVE_H

#include "../cli.h"
#include "server.h"

/* What is shown: rows of view_server. */
typedef struct view_shown {
    view_lane (*lane)(void *user, const char *path, const char *query);
    view_answer (*answer)(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone);
    bool (*over)(void *user); /* there is nothing to show any more; NULL: never */
    void *user;
} view_shown;

/* Before long work: is there a server, and may it listen there? */
qb_status view_prepare(cli *c, view_serve_fn **serve);
/* Prints the address and serves until the command is interrupted, or it is over. */
qb_status view_serve(cli *c, view_serve_fn *serve, const view_shown *shown);

#endif
