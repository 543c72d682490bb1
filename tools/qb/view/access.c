/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <libwebsockets.h>

#include <stdio.h>
#include <string.h>

static bool header_of(struct lws *wsi, enum lws_token_indexes which, char *text, int size) {
    return lws_hdr_total_length(wsi, which) > 0 && lws_hdr_copy(wsi, text, size, which) > 0;
}

/* "127.0.0.1:8080" -> "127.0.0.1"; "[::1]:8080" -> "::1". */
static void host_alone(char *host) {
    char *colon = strrchr(host, ':');
    if (host[0] == '[') {
        char *end = strchr(host, ']');
        if (end) *end = 0;
        memmove(host, host + 1, strlen(host));
    } else if (colon) {
        *colon = 0;
    }
}

bool view_host_serves(struct lws *wsi, const char *mine) {
    char host[128];
    if (!header_of(wsi, WSI_TOKEN_HOST, host, sizeof host)) return false;
    host_alone(host);
    const bool local = strncmp(mine, "127.", 4) == 0 || strcmp(mine, "::1") == 0;
    return !local || strcmp(host, mine) == 0 || strcmp(host, "localhost") == 0;
}

bool view_origin_serves(struct lws *wsi) {
    char origin[160], host[128];
    if (!header_of(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin)) return true;
    const char *behind = strstr(origin, "://");
    return behind && header_of(wsi, WSI_TOKEN_HOST, host, sizeof host) && strcmp(behind + 3, host) == 0;
}

bool view_token_fits(struct lws *wsi, const char *token) {
    char text[128];
    const size_t n = strlen(token);
    unsigned differs = 0;
    if (!header_of(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, text, sizeof text)) return false;
    if (strncmp(text, "Bearer ", 7) != 0 || strlen(text + 7) != n) return false;
    for (size_t i = 0; i < n; i++) differs |= (unsigned)(text[7 + i] ^ token[i]);
    return differs == 0;
}
