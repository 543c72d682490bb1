/* SPDX-License-Identifier: MIT */
#pragma once

#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>

#include "server.h"

/* Requests that wait for a worker, and the workers that make the answers. The network thread submits requests and
 * collects answers; it never waits. */

enum { VIEW_QUERY_MOST = 1024 };

/* One request. Its connection may be closed when the answer is ready. */
typedef struct request {
    struct lws *wsi; /* connection; NULL: the client has left */
    char path[64], query[VIEW_QUERY_MOST];
    view_answer answer;
    bool ready;
    volatile sig_atomic_t gone; /* the client has left: the computation shall stop */
    struct request *next;
} request;

typedef struct requests requests;

/* One lane of requests. It has its own workers, so that slow answers do not delay quick ones. */
typedef struct lane {
    requests *all;
    request *first, *last; /* requests that wait for a worker */
    int waiting;
    pthread_cond_t more;
    pthread_t worker[2];
    int workers;
    request *busy[2]; /* request that each worker computes */
} lane;

struct requests {
    const view_server *server;
    struct lws_context *context;
    pthread_mutex_t lock;
    lane lane[VIEW_LANES];
    request *done; /* requests with an answer that the network thread has not collected */
    bool ending;
};

void requests_init(requests *r, const view_server *server);
/* Starts the workers; false where a lane has none. */
bool requests_start(requests *r, struct lws_context *context);
/* Adds a request; false where too many requests wait already. */
bool requests_submit(requests *r, request *one);
/* Tells the connections of finished requests that their answers are ready. */
void requests_collect(requests *r);
/* Called when the connection of a request is closed. */
void requests_leave(requests *r, request *one);
/* Cancels running computations and joins the workers. Waiting requests are marked ready, and their connections drop
 * them. */
void requests_end(requests *r);
void requests_destroy(requests *r);
void request_drop(request *one); /* NULL-safe */

/* Writes answers to a connection. */

enum { REPLY_PIECE = 64 << 10 }; /* bytes sent at once: libwebsockets sends 4 KiB by default, which is slow */

/* State of one connection. */
typedef struct session {
    request *request;
    size_t sent;
    bool headers;
} session;

view_answer reply_text(int status, const char *why);
/* The page, in which each NONCE is replaced by the nonce. */
view_answer reply_page(const char *page, const char *nonce);
/* Sends the next piece of a ready answer; -1 ends the connection. */
int reply_send(session *of, struct lws *wsi, const char *nonce, const char *frames);
