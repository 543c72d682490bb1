/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* POLLRDHUP */
#include "requests.h"

#include <poll.h>
#include <stdlib.h>

enum { WAITING_MOST = 64 };
/* Slow answers are computed one after another, and while one is computed, the other worker reduces and hands over the
 * last. */
static const int workers_of[VIEW_LANES] = {[VIEW_QUICK] = 2, [VIEW_DRAFT] = 1, [VIEW_SHARP] = 2};

void request_drop(request *one) {
    if (!one) return;
    if (one->answer.release)
        one->answer.release(one->answer.owner);
    else
        free(one->answer.bytes);
    free(one);
}

/* Has the client closed its end? libwebsockets does not look at a connection while its answer is computed. */
static bool has_left(const request *one) {
    struct pollfd end = {.fd = lws_get_socket_fd(one->wsi), .events = POLLRDHUP};
    return poll(&end, 1, 0) == 1 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

/* The place of the calling thread in lane->busy. */
static request **place_of(lane *l) {
    for (int i = 0; i < l->workers; i++)
        if (pthread_equal(l->worker[i], pthread_self())) return &l->busy[i];
    return NULL;
}

static void *work(void *given) {
    lane *l = given;
    requests *r = l->all;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (!l->first && !r->ending) pthread_cond_wait(&l->more, &r->lock);
        if (r->ending) break;
        request *one = l->first, **busy = place_of(l);
        l->first = one->next;
        if (!l->first) l->last = NULL;
        l->waiting--;
        const bool wanted = one->wsi && !has_left(one);
        if (!wanted) one->answer.status = 503;
        if (busy) *busy = one;
        pthread_mutex_unlock(&r->lock);
        if (wanted) one->answer = r->server->answer(r->server->user, one->path, one->query, &one->gone);
        pthread_mutex_lock(&r->lock);
        if (busy) *busy = NULL;
        one->next = r->done;
        r->done = one;
        lws_cancel_service(r->context);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void requests_init(requests *r, const view_server *server) {
    *r = (requests){.server = server};
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < VIEW_LANES; i++) {
        r->lane[i].all = r;
        pthread_cond_init(&r->lane[i].more, NULL);
    }
}

bool requests_start(requests *r, struct lws_context *context) {
    bool all = true;
    r->context = context;
    pthread_mutex_lock(&r->lock); /* workers search worker[], so they start only when it is complete */
    for (int i = 0; i < VIEW_LANES; i++) {
        lane *l = &r->lane[i];
        while (l->workers < workers_of[i] && pthread_create(&l->worker[l->workers], NULL, work, l) == 0) l->workers++;
        all = all && l->workers > 0;
    }
    pthread_mutex_unlock(&r->lock);
    return all;
}

/* Stops the computation of answers whose clients have left, as the page does when a newer request replaces one. The
 * caller holds the lock. */
static void stop_what_was_left(requests *r) {
    for (int i = 0; i < VIEW_LANES; i++)
        for (int w = 0; w < r->lane[i].workers; w++) {
            request *busy = r->lane[i].busy[w];
            if (busy && busy->wsi && has_left(busy)) __atomic_store_n(&busy->gone, 1, __ATOMIC_RELAXED);
        }
}

bool requests_submit(requests *r, request *one) {
    lane *l = &r->lane[r->server->lane(r->server->user, one->path, one->query)];
    pthread_mutex_lock(&r->lock);
    stop_what_was_left(r);
    const bool room = l->waiting < WAITING_MOST;
    if (room) {
        if (l->last)
            l->last->next = one;
        else
            l->first = one;
        l->last = one;
        l->waiting++;
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&r->lock);
    return room;
}

void requests_collect(requests *r) {
    pthread_mutex_lock(&r->lock);
    while (r->done) {
        request *one = r->done;
        r->done = one->next;
        one->next = NULL;
        one->ready = true;
        if (one->wsi)
            lws_callback_on_writable(one->wsi);
        else
            request_drop(one);
    }
    pthread_mutex_unlock(&r->lock);
}

void requests_leave(requests *r, request *one) {
    if (!one) return;
    pthread_mutex_lock(&r->lock);
    one->wsi = NULL;
    __atomic_store_n(&one->gone, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&r->lock);
    if (one->ready) request_drop(one);
}

void requests_end(requests *r) {
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    for (int i = 0; i < VIEW_LANES; i++) {
        lane *l = &r->lane[i];
        for (int k = 0; k < l->workers; k++)
            if (l->busy[k]) __atomic_store_n(&l->busy[k]->gone, 1, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&l->more);
    }
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < VIEW_LANES; i++) {
        lane *l = &r->lane[i];
        for (int k = 0; k < l->workers; k++) pthread_join(l->worker[k], NULL);
        for (request *one = l->first, *next; one; one = next) {
            next = one->next;
            one->ready = true; /* the connection closes after this and drops the request */
            if (!one->wsi) request_drop(one);
        }
        l->first = NULL;
    }
    requests_collect(r);
}

void requests_destroy(requests *r) {
    for (int i = 0; i < VIEW_LANES; i++) pthread_cond_destroy(&r->lane[i].more);
    pthread_mutex_destroy(&r->lock);
}
