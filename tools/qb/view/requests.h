/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_REQUESTS_H
#define QB_VIEW_REQUESTS_H

#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>

#include "server.h"

/* Requests that wait for a worker, and workers, who make the answers. The network thread submits and collects; it never waits. */

enum { VIEW_QUERY_MOST = 1024 };

/* One request. Its connection may be gone when the answer is ready. */
typedef struct request {
    struct lws *wsi; /* NULL: nobody waits any more */
    char path[64], query[VIEW_QUERY_MOST];
    view_answer answer;
    bool ready;
    volatile sig_atomic_t gone; /* what the answer is computed for has ended: stop */
    struct request *next;
} request;

typedef struct requests requests;

/* One lane of requests, with workers of its own, so that slow answers do not hold up quick ones. */
typedef struct lane {
    requests *all;
    request *first, *last; /* that wait for a worker */
    int waiting;
    pthread_cond_t more;
    pthread_t worker[2];
    int workers;
    request *busy[2]; /* what each worker computes */
} lane;

struct requests {
    const view_server *server;
    struct lws_context *context;
    pthread_mutex_t lock;
    lane lane[VIEW_LANES];
    request *done; /* with an answer that the network thread has not seen */
    bool ending;
};

void requests_init(requests *r, const view_server *server);
/* Starts the workers; false when a lane has none. */
bool requests_start(requests *r, struct lws_context *context);
/* False when too many wait already. */
bool requests_submit(requests *r, request *one);
/* Tells connections that their answers are ready. */
void requests_collect(requests *r);
/* The connection of a request is gone. */
void requests_leave(requests *r, request *one);
/* Cancels what is computed and joins the workers. Requests that waited are marked ready: their connections drop them. */
void requests_end(requests *r);
void requests_destroy(requests *r);
void request_drop(request *one); /* NULL-safe */

#endif
