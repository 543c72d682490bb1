/* SPDX-License-Identifier: MIT */
/* The HTTP server of `qb view`, on libwebsockets. One thread speaks to the network and never waits for a disk or a computation;
 * answers are made by a few others. Whoever has not the token gets the page and nothing else. */
#include "server.h"

#include "access.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    WORKERS = 2,
    WAITING_MOST = 64,
    CONNECTIONS_MOST = 128,
    QUERY_MOST = 512,
    PIECE = 64 << 10,
    STOP_LOOKS = 250000
};

/* One request. Its connection may be gone when the answer is ready. */
typedef struct request {
    struct lws *wsi; /* NULL: nobody waits any more */
    char path[64], query[QUERY_MOST];
    view_answer answer;
    bool ready;
    struct request *next;
} request;

typedef struct serving {
    const view_server *server;
    struct lws_context *context;
    pthread_mutex_t lock;
    pthread_cond_t more;
    request *first, *last; /* that wait for a worker */
    request *done;         /* with an answer that the network thread has not seen */
    int waiting;
    bool ending;
    pthread_t worker[WORKERS];
    int workers;
    lws_sorted_usec_list_t look;
    bool stopped;
    char nonce[33];
} serving;

/* Of one connection. */
typedef struct session {
    request *request;
    size_t sent;
    bool headers;
} session;

static void drop(request *r) {
    if (r) free(r->answer.bytes);
    free(r);
}

static void *work(void *given) {
    serving *s = given;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->first && !s->ending) pthread_cond_wait(&s->more, &s->lock);
        if (s->ending) break;
        request *r = s->first;
        s->first = r->next;
        if (!s->first) s->last = NULL;
        s->waiting--;
        const bool wanted = r->wsi != NULL;
        pthread_mutex_unlock(&s->lock);
        if (wanted) r->answer = s->server->answer(s->server->user, r->path, r->query);
        pthread_mutex_lock(&s->lock);
        r->next = s->done;
        s->done = r;
        lws_cancel_service(s->context);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* False when too many wait already. */
static bool submit(serving *s, request *r) {
    pthread_mutex_lock(&s->lock);
    const bool room = s->waiting < WAITING_MOST;
    if (room) {
        if (s->last)
            s->last->next = r;
        else
            s->first = r;
        s->last = r;
        s->waiting++;
        pthread_cond_signal(&s->more);
    }
    pthread_mutex_unlock(&s->lock);
    return room;
}

static void collect(serving *s) {
    pthread_mutex_lock(&s->lock);
    while (s->done) {
        request *r = s->done;
        s->done = r->next;
        r->next = NULL;
        r->ready = true;
        if (r->wsi)
            lws_callback_on_writable(r->wsi);
        else
            drop(r);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- answers that need no work ---- */

static view_answer text_of(int status, const char *type, const char *text) {
    view_answer answer = {.status = status, .type = type, .bytes = strdup(text), .size = strlen(text)};
    if (!answer.bytes) answer.size = 0;
    return answer;
}

static view_answer refuse(int status, const char *why) { return text_of(status, "text/plain; charset=utf-8", why); }

/* The page, its NONCEs filled in. */
static view_answer page_of(const serving *s) {
    static const char mark[] = "NONCE";
    const size_t n = strlen(s->nonce), m = sizeof mark - 1;
    size_t marks = 0, used = 0;
    for (const char *at = s->server->page; (at = strstr(at, mark)); at += m) marks++;
    char *made = malloc(strlen(s->server->page) + marks * n + 1);
    if (!made) return refuse(500, "no memory for the page");
    for (const char *from = s->server->page, *at;; from = at + m) {
        at = strstr(from, mark);
        const size_t part = at ? (size_t)(at - from) : strlen(from);
        memcpy(made + used, from, part);
        used += part;
        if (!at) break;
        memcpy(made + used, s->nonce, n);
        used += n;
    }
    return (view_answer){200, "text/html; charset=utf-8", made, used};
}

static void hex_of_random(char *text, size_t bytes) {
    unsigned char raw[16] = {0};
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes) abort();
    for (size_t i = 0; i < bytes; i++) snprintf(text + 2 * i, 3, "%02x", raw[i]);
}

/* The answer at once, or true where a worker makes it. */
static bool later(serving *s, struct lws *wsi, const char *path, request *r) {
    char query[QUERY_MOST] = "";
    size_t used = 0;
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI)) return r->answer = refuse(405, "only GET is served"), false;
    if (!view_host_serves(wsi, s->server->address) || !view_origin_serves(wsi))
        return r->answer = refuse(403, "asked under another name"), false;
    if (strcmp(path, "/") == 0) return r->answer = page_of(s), false;
    if (strcmp(path, "/favicon.ico") == 0) return r->answer = refuse(404, "there is none"), false;
    if (!view_token_fits(wsi, s->server->token))
        return r->answer = refuse(401, "open the address that qb view prints: its token is missing"), false;
    for (int i = 0, n;
         (n = lws_hdr_copy_fragment(wsi, query + used, (int)(sizeof query - used - 1), WSI_TOKEN_HTTP_URI_ARGS, i)) > 0;
         i++) {
        used += (size_t)n;
        if (used + 2 >= sizeof query) return r->answer = refuse(414, "too long a request"), false;
        query[used++] = '&';
        query[used] = 0;
    }
    if (strlen(path) >= sizeof r->path) return r->answer = refuse(404, "there is nothing of that name"), false;
    snprintf(r->path, sizeof r->path, "%s", path);
    snprintf(r->query, sizeof r->query, "%s", query);
    return true;
}

/* The connection is gone. */
static void leave(serving *s, session *of) {
    request *r = of->request;
    if (!r) return;
    pthread_mutex_lock(&s->lock);
    r->wsi = NULL;
    pthread_mutex_unlock(&s->lock);
    if (r->ready) drop(r);
    of->request = NULL;
}

static int take(serving *s, session *of, struct lws *wsi, const char *path) {
    request *r = calloc(1, sizeof *r);
    if (!r) return -1;
    leave(s, of);
    *of = (session){.request = r};
    r->wsi = wsi;
    lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
    if (later(s, wsi, path, r)) {
        if (submit(s, r)) return 0;
        r->answer = refuse(503, "too many requests wait: ask again");
    }
    r->ready = true;
    lws_callback_on_writable(wsi);
    return 0;
}

/* ---- sending ---- */

static int send_headers(const serving *s, session *of, struct lws *wsi) {
    unsigned char room[LWS_PRE + 1536], *p = room + LWS_PRE, *end = room + sizeof room - 1;
    const request *r = of->request;
    char policy[320];
    const int n =
        snprintf(policy, sizeof policy,
                 "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data: blob:; connect-src "
                 "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
                 s->nonce, s->nonce);
    static const struct {
        const char *name, *value;
    } always[] = {{"x-content-type-options:", "nosniff"},
                  {"referrer-policy:", "no-referrer"},
                  {"cache-control:", "no-store"},
                  {"cross-origin-resource-policy:", "same-origin"}};
    if (lws_add_http_common_headers(wsi, (unsigned)r->answer.status, r->answer.type, r->answer.size, &p, end))
        return -1;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (lws_add_http_header_by_name(wsi, (const unsigned char *)always[i].name,
                                        (const unsigned char *)always[i].value, (int)strlen(always[i].value), &p, end))
            return -1;
    }
    if (lws_add_http_header_by_name(wsi, (const unsigned char *)"content-security-policy:", (unsigned char *)policy, n,
                                    &p, end))
        return -1;
    of->headers = true;
    return lws_finalize_write_http_header(wsi, room + LWS_PRE, &p, end) ? -1 : 0;
}

static int finish(session *of, struct lws *wsi) {
    drop(of->request);
    *of = (session){0};
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int send_some(serving *s, session *of, struct lws *wsi) {
    unsigned char room[LWS_PRE + PIECE];
    request *r = of->request;
    if (!r || !r->ready) return 0;
    if (!of->headers) {
        if (send_headers(s, of, wsi)) return -1;
        if (r->answer.size == 0) return finish(of, wsi);
        lws_callback_on_writable(wsi);
        return 0;
    }
    const size_t left = r->answer.size - of->sent, n = left < PIECE ? left : PIECE;
    memcpy(room + LWS_PRE, (const char *)r->answer.bytes + of->sent, n);
    if (lws_write(wsi, room + LWS_PRE, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n) return -1;
    of->sent += n;
    if (n == left) return finish(of, wsi);
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    serving *s = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED: collect(s); return 0;
    case LWS_CALLBACK_HTTP: return take(s, user, wsi, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return send_some(s, user, wsi);
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED_HTTP:
        if (user) leave(s, user);
        return 0;
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION: return 0;
    default: return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

/* ---- from beginning to end ---- */

static void look_whether_to_stop(lws_sorted_usec_list_t *at) {
    serving *s = lws_container_of(at, serving, look);
    s->stopped = s->server->stop(s->server->user);
    if (s->stopped)
        lws_cancel_service(s->context);
    else
        lws_sul_schedule(s->context, 0, &s->look, look_whether_to_stop, STOP_LOOKS);
}

static void end(serving *s) {
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_broadcast(&s->more);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->workers; i++) pthread_join(s->worker[i], NULL);
    for (request *r = s->first, *next; r; r = next) {
        next = r->next;
        r->ready = true; /* its connection, which closes below, drops it */
        if (!r->wsi) drop(r);
    }
    s->first = NULL;
    collect(s);
    if (s->context) lws_context_destroy(s->context);
    pthread_cond_destroy(&s->more);
    pthread_mutex_destroy(&s->lock);
}

int qb_view_serve(const view_server *server, char *words, size_t size) {
    serving s = {.server = server, .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
    const struct lws_protocols protocols[] = {{"http", on_event, sizeof(session), 0, 0, NULL, 0}, {0}};
    struct lws_context_creation_info info = {.port = server->port,
                                             .iface = server->address,
                                             .protocols = protocols,
                                             .gid = (gid_t)-1,
                                             .uid = (uid_t)-1,
                                             .user = &s,
                                             .fd_limit_per_thread = CONNECTIONS_MOST,
                                             .options =
                                                 LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                                                 (strchr(server->address, ':') ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6)};
    hex_of_random(s.nonce, 16);
    lws_set_log_level(0, NULL);
    s.context = lws_create_context(&info);
    struct lws_vhost *host = s.context ? lws_get_vhost_by_name(s.context, "default") : NULL;
    const int port = host ? lws_get_vhost_listen_port(host) : 0;
    if (port <= 0) {
        snprintf(words, size,
                 "cannot listen at %s port %d: it is in use, reserved, or no address of this machine; give another "
                 "--port, or 0 for any that is free",
                 server->address, server->port);
        end(&s);
        return 1;
    }
    while (s.workers < WORKERS && pthread_create(&s.worker[s.workers], NULL, work, &s) == 0) s.workers++;
    server->ready(server->user, port);
    look_whether_to_stop(&s.look);
    while (!s.stopped && s.workers && lws_service(s.context, 0) >= 0) continue;
    end(&s);
    return 0;
}
