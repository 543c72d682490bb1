/* SPDX-License-Identifier: MIT */
#pragma once

#include "requests.h"

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
