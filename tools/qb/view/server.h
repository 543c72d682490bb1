/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_SERVER_H
#define QB_VIEW_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* The server of `qb view`. It needs libwebsockets, so it is in a library of its own, libquickbeam_view.so, which only that verb opens. */

/* What is sent: `bytes` is malloc'ed, and freed by the server. */
typedef struct view_answer {
    int status;       /* of HTTP: 200, 400, 404 ... */
    const char *type; /* "application/json" */
    void *bytes;
    size_t size;
} view_answer;

typedef struct view_server {
    const char *address; /* numeric, of the interface; never NULL */
    int port;            /* 0: any that is free */
    const char *token;   /* each request but that for the page has it, as "Authorization: Bearer TOKEN" */
    const char *page;    /* HTML; each NONCE in it becomes a random word, the only one whose scripts and styles run */
    bool (*stop)(void *user); /* asked four times a second */
    void (*ready)(void *user, int port);
    /* A request "/slice" with "axis=0&index=7". Called from several threads at once. */
    view_answer (*answer)(void *user, const char *path, const char *query);
    void *user;
} view_server;

/* Serves until `stop` says so. 0, or 1 with `words` where it cannot listen there. */
typedef int view_serve_fn(const view_server *server, char *words, size_t size);
__attribute__((visibility("default"))) view_serve_fn qb_view_serve;

#endif
