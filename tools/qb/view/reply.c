/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

view_answer reply_text(int status, const char *why) {
    view_answer answer = {
        .status = status, .type = "text/plain; charset=utf-8", .bytes = strdup(why), .size = strlen(why)};
    if (!answer.bytes) answer.size = 0;
    return answer;
}

view_answer reply_page(const char *page, const char *nonce) {
    static const char mark[] = "NONCE";
    const size_t n = strlen(nonce), m = sizeof mark - 1;
    size_t marks = 0, used = 0;
    for (const char *at = page; (at = strstr(at, mark)); at += m) marks++;
    char *made = malloc(strlen(page) + marks * n + 1);
    if (!made) return reply_text(500, "no memory for the page");
    for (const char *from = page, *at;; from = at + m) {
        at = strstr(from, mark);
        const size_t part = at ? (size_t)(at - from) : strlen(from);
        memcpy(made + used, from, part);
        used += part;
        if (!at) break;
        memcpy(made + used, nonce, n);
        used += n;
    }
    return (view_answer){.status = 200, .type = "text/html; charset=utf-8", .bytes = made, .size = used};
}

static int send_headers(session *of, struct lws *wsi, const char *nonce, const char *frames) {
    unsigned char room[LWS_PRE + 1536], *p = room + LWS_PRE, *end = room + sizeof room - 1;
    const request *r = of->request;
    char policy[400];
    const int n =
        snprintf(policy, sizeof policy,
                 "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data: blob:; connect-src "
                 "'self'; base-uri 'none'; form-action 'none'; frame-ancestors %s",
                 nonce, nonce, frames);
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
    request_drop(of->request);
    *of = (session){0};
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

int reply_send(session *of, struct lws *wsi, const char *nonce, const char *frames) {
    unsigned char room[LWS_PRE + REPLY_PIECE];
    request *r = of->request;
    if (!r || !r->ready) return 0;
    if (!of->headers) {
        if (send_headers(of, wsi, nonce, frames)) return -1;
        if (r->answer.size == 0) return finish(of, wsi);
        lws_callback_on_writable(wsi);
        return 0;
    }
    const size_t left = r->answer.size - of->sent, n = left < REPLY_PIECE ? left : REPLY_PIECE;
    memcpy(room + LWS_PRE, (const char *)r->answer.bytes + of->sent, n);
    if (lws_write(wsi, room + LWS_PRE, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n) return -1;
    of->sent += n;
    if (n == left) return finish(of, wsi);
    lws_callback_on_writable(wsi);
    return 0;
}
