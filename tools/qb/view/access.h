/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_ACCESS_H
#define QB_VIEW_ACCESS_H

#include <libwebsockets.h>
#include <stdbool.h>

/* Who may ask the server of qb view. */

/* Does the Host header name this server? A page of another site can give this machine's address a name of its own (DNS rebinding).
 * So a server on the loopback accepts only the loopback's names. Elsewhere a machine may have any name, and the token alone decides. */
bool view_host_serves(struct lws *wsi, const char *address);
/* False when the page of another server asks. */
bool view_origin_serves(struct lws *wsi);
/* "Authorization: Bearer TOKEN"; takes as long for any token of this length. */
bool view_token_fits(struct lws *wsi, const char *token);

#endif
