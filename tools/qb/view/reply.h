/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_REPLY_H
#define QB_VIEW_REPLY_H

#include "requests.h"

/* What goes back over a connection. */

/* Of one connection. */
typedef struct session {
    request *request;
    size_t sent;
    bool headers;
} session;

view_answer reply_text(int status, const char *why);
/* The page, its NONCEs filled in. */
view_answer reply_page(const char *page, const char *nonce);
/* Sends the next piece of a ready answer; -1 ends the connection. */
int reply_send(session *of, struct lws *wsi, const char *nonce, const char *frames);

#endif
