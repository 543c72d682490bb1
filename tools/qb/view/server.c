/* SPDX-License-Identifier: MIT */
/* The HTTP server of `qb view`, on libwebsockets. One thread handles the network and never waits for a disk or a
 * computation; worker threads make the answers (requests.c). A client without the token gets the page and nothing
 * else. */
#include "server.h"

#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { CONNECTIONS_MOST = 128, STOP_LOOKS = 250000 };

typedef struct serving {
    const view_server *server;
    struct lws_context *context;
    requests requests;
    lws_sorted_usec_list_t look;
    bool stopped;
    char nonce[33];
} serving;

static void hex_of_random(char *text, size_t bytes) {
    unsigned char raw[16] = {0};
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes) abort();
    for (size_t i = 0; i < bytes; i++) snprintf(text + 2 * i, 3, "%02x", raw[i]);
}

/* False: the answer is ready at once; true: a worker has to make it. */
static bool later(serving *s, struct lws *wsi, const char *path, request *r) {
    char query[VIEW_QUERY_MOST] = "";
    size_t used = 0;
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI)) return r->answer = reply_text(405, "only GET is served"), false;
    if (!view_host_serves(wsi, s->server->address) || !view_origin_serves(wsi))
        return r->answer = reply_text(403, "asked under another name"), false;
    if (strcmp(path, "/") == 0) return r->answer = reply_page(s->server->page, s->nonce), false;
    if (strcmp(path, "/favicon.ico") == 0) return r->answer = reply_text(404, "there is none"), false;
    if (!view_token_fits(wsi, s->server->token))
        return r->answer = reply_text(401, "open the address that qb view prints: its token is missing"), false;
    for (int i = 0, n;
         (n = lws_hdr_copy_fragment(wsi, query + used, (int)(sizeof query - used - 1), WSI_TOKEN_HTTP_URI_ARGS, i)) > 0;
         i++) {
        used += (size_t)n;
        if (used + 2 >= sizeof query) return r->answer = reply_text(414, "too long a request"), false;
        query[used++] = '&';
        query[used] = 0;
    }
    if (strlen(path) >= sizeof r->path) return r->answer = reply_text(404, "there is nothing of that name"), false;
    snprintf(r->path, sizeof r->path, "%s", path);
    snprintf(r->query, sizeof r->query, "%s", query);
    return true;
}

/* Called when the connection is closed. */
static void leave(serving *s, session *of) {
    requests_leave(&s->requests, of->request);
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
        if (requests_submit(&s->requests, r)) return 0;
        r->answer = reply_text(503, "too many requests wait: ask again");
    }
    r->ready = true;
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    serving *s = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED: requests_collect(&s->requests); return 0;
    case LWS_CALLBACK_HTTP: return take(s, user, wsi, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return reply_send(user, wsi, s->nonce, s->server->frames);
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED_HTTP:
        if (user) leave(s, user);
        return 0;
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION: return 0;
    default: return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

/* ---- start and end ---- */

static void look_whether_to_stop(lws_sorted_usec_list_t *at) {
    serving *s = lws_container_of(at, serving, look);
    s->stopped = s->server->stop(s->server->user);
    if (s->stopped)
        lws_cancel_service(s->context);
    else
        lws_sul_schedule(s->context, 0, &s->look, look_whether_to_stop, STOP_LOOKS);
}

static void end(serving *s) {
    requests_end(&s->requests);
    if (s->context) lws_context_destroy(s->context);
    requests_destroy(&s->requests);
}

int qb_view_serve(const view_server *server, char *words, size_t size) {
    serving s = {.server = server};
    const struct lws_protocols protocols[] = {{"http", on_event, sizeof(session), 0, 0, NULL, REPLY_PIECE}, {0}};
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
    requests_init(&s.requests, server);
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
    const bool able = requests_start(&s.requests, s.context);
    server->ready(server->user, port);
    look_whether_to_stop(&s.look);
    while (!s.stopped && able && lws_service(s.context, 0) >= 0) continue;
    end(&s);
    return 0;
}
