/* SPDX-License-Identifier: MIT */
#pragma once

#include <libwebsockets.h>
#include <stdbool.h>

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
