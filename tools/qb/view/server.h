/* SPDX-License-Identifier: MIT */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The server of `qb view`. It needs libwebsockets. Therefore it is in a library of its own, libquickbeam_view.so, which
 * only the verbs with a server open. */

/* An answer. */
typedef struct view_answer {
    int status;       /* HTTP status: 200, 400, 404 ... */
    const char *type; /* content type, as in "application/json" */
    void *bytes;
    size_t size;
    void (*release)(void *owner); /* called when the answer was sent; NULL: `bytes` is from malloc and is freed */
    void *owner;
} view_answer;

/* How long an answer takes: read at once, computed soon, computed slowly. Each lane has its own workers. */
typedef enum view_lane { VIEW_QUICK, VIEW_DRAFT, VIEW_SHARP, VIEW_LANES } view_lane;

typedef struct view_server {
    const char *address; /* numeric address of the interface; never NULL */
    int port;            /* port; 0: any free port */
    /* Token that every request but that for the page must have, as "Authorization: Bearer TOKEN" */
    const char *token;
    /* HTML; each NONCE in it is replaced by a random word. Only scripts and styles with this word run */
    const char *page;
    const char *frames;       /* who may show the page in a frame, in the form of Content-Security-Policy: "'self'" */
    bool (*stop)(void *user); /* called four times a second; true ends the server */
    void (*ready)(void *user, int port);
    /* Called in the network thread: must not wait. */
    view_lane (*lane)(void *user, const char *path, const char *query);
    /* Answers a request, such as "/slice" with "axis=0&index=7". Several threads may call it at once. *gone becomes 1
     * when the client no longer waits for the answer. */
    view_answer (*answer)(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone);
    void *user;
} view_server;

/* Serves until `stop` returns true. Returns 0, or 1 and `words` where the server cannot listen at its address. */
typedef int view_serve_fn(const view_server *server, char *words, size_t size);
__attribute__((visibility("default"))) view_serve_fn qb_view_serve;

struct lws; /* of libwebsockets: a connection. Verbs that only open the library are built without it. */

/* Checks who may send requests to the server of qb view. */

/* Does the Host header name this server? A page of another site can give the address of this machine a name of its own
 * (DNS rebinding). Therefore a server on the loopback address accepts only the names of the loopback. At other
 * addresses a machine may have any name, and only the token decides. */
bool view_host_serves(struct lws *wsi, const char *address);
/* False where the request comes from the page of another server. */
bool view_origin_serves(struct lws *wsi);
/* Does the header "Authorization: Bearer TOKEN" have the token? Takes the same time for every token of this length, so
 * that the time does not reveal the token. */
bool view_token_fits(struct lws *wsi, const char *token);
