/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_SERVER_H
#define QB_VIEW_SERVER_H

#include <signal.h>
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

/* How long an answer takes: read at once, computed soon, computed over a while. Each lane has workers of its own. */
typedef enum view_lane { VIEW_QUICK, VIEW_DRAFT, VIEW_SHARP, VIEW_LANES } view_lane;

typedef struct view_server {
    const char *address; /* numeric, of the interface; never NULL */
    int port;            /* 0: any that is free */
    const char *token;   /* each request but that for the page has it, as "Authorization: Bearer TOKEN" */
    const char *page;    /* HTML; each NONCE in it becomes a random word, the only one whose scripts and styles run */
    const char *frames;  /* who may show the page in a frame, as a Content-Security-Policy has it: "'self'" */
    bool (*stop)(void *user); /* asked four times a second */
    void (*ready)(void *user, int port);
    /* In the network thread: must not wait. */
    view_lane (*lane)(void *user, const char *path, const char *query);
    /* A request "/slice" with "axis=0&index=7". Called from several threads at once. *gone becomes 1 when nobody waits for the
     * answer any more. */
    view_answer (*answer)(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone);
    void *user;
} view_server;

/* Serves until `stop` says so. 0, or 1 with `words` where it cannot listen there. */
typedef int view_serve_fn(const view_server *server, char *words, size_t size);
__attribute__((visibility("default"))) view_serve_fn qb_view_serve;

#endif
