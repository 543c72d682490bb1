/* SPDX-License-Identifier: MIT */
/* The server of qb view: its address, its token, and the library that holds it. */
#include "serve.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

extern const unsigned char view_page[]; /* the text of view/page.html */

typedef struct viewing {
    cli *c;
    const char *token;
    const view_shown *shown;
    pthread_mutex_t lock; /* protects `failure` */
    char failure[700];    /* the last failure that the terminal has said */
} viewing;

static bool is_over(void *user) {
    const viewing *v = user;
    return *v->c->env.cancel != 0 || (v->shown->over && v->shown->over(v->shown->user));
}

static void say_where(void *user, int port) {
    const viewing *v = user;
    const char *address = v->c->options.view.listen;
    const bool six = strchr(address, ':') != NULL;
    char words[200];
    printf(v->c->options.run.json ? "{\"address\": \"http://%s%s%s:%d/#%s\"}\n" : "http://%s%s%s:%d/#%s\n",
           six ? "[" : "", address, six ? "]" : "", port, v->token);
    fflush(stdout);
    snprintf(words, sizeof words,
             "open this address in a browser; Ctrl-C ends. From another machine: ssh -L %d:%s:%d HOST", port, address,
             port);
    v->c->env.log(NULL, QB_LOG_INFO, words);
}

static qb_status check_address(cli *c) {
    unsigned char room[sizeof(struct in6_addr)];
    const char *address = c->options.view.listen;
    const int four = inet_pton(AF_INET, address, room), six = inet_pton(AF_INET6, address, room);
    if (four != 1 && six != 1)
        return complain(QB_BAD_ARGUMENT,
                        "--listen %.60s: it wants the number of an address, such as 127.0.0.1 or 0.0.0.0", address);
    if (strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0)
        c->env.log(
            NULL, QB_LOG_WARNING,
            "anyone on the network who learns the token can look at these files; nothing is encrypted [view-network]");
    return QB_OK;
}

static qb_status open_server(view_serve_fn **serve) {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    void *library = dlopen("libquickbeam_view.so", RTLD_NOW | RTLD_LOCAL);
    if (!library && n > 0) { /* next to the command: the dlopen of the sanitizers does not search the command's rpath */
        path[n] = 0;
        strcpy(strrchr(path, '/') + 1, "libquickbeam_view.so");
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    *(void **)serve = library ? dlsym(library, "qb_view_serve") : NULL;
    return *serve ? QB_OK
                  : complain(QB_UNSUPPORTED,
                             "qb view needs libquickbeam_view.so (%.160s): install libwebsockets-dev, then "
                             "build again",
                             library ? "it is of another build" : dlerror());
}

static qb_status make_token(char text[33]) {
    unsigned char raw[16];
    if (getrandom(raw, sizeof raw, 0) != sizeof raw) return complain(QB_INTERNAL, "the system gives no random numbers");
    for (size_t i = 0; i < sizeof raw; i++) snprintf(text + 2 * i, 3, "%02x", raw[i]);
    return QB_OK;
}

static view_lane lane(void *user, const char *path, const char *query) {
    const view_shown *shown = ((viewing *)user)->shown;
    return shown->lane(shown->user, path, query);
}

/* The terminal says failures of the server, too: each once. */
static void say_failure(viewing *v, const char *why) {
    pthread_mutex_lock(&v->lock);
    if (strncmp(v->failure, why, sizeof v->failure - 1) != 0) {
        snprintf(v->failure, sizeof v->failure, "%s", why);
        v->c->env.log(NULL, QB_LOG_WARNING, v->failure);
    }
    pthread_mutex_unlock(&v->lock);
}

static view_answer answer(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone) {
    viewing *v = user;
    const view_answer made = v->shown->answer(v->shown->user, path, query, gone);
    if (made.status == 500 && made.bytes) say_failure(v, made.bytes);
    return made;
}

qb_status view_prepare(cli *c, view_serve_fn **serve) {
    const qb_status status = check_address(c);
    return status == QB_OK ? open_server(serve) : status;
}

qb_status view_serve(cli *c, view_serve_fn *serve, const view_shown *shown) {
    char token[33] = "", words[300] = "";
    viewing v = {.c = c, .token = token, .shown = shown, .lock = PTHREAD_MUTEX_INITIALIZER};
    const view_server server = {
        .address = c->options.view.listen,
        .port = c->options.view.port,
        .token = token,
        .page = (const char *)view_page,
        .frames = c->options.view.frame ? "'self' http://localhost:* http://127.0.0.1:* https://localhost:*" : "'self'",
        .stop = is_over,
        .ready = say_where,
        .lane = lane,
        .answer = answer,
        .user = &v};
    const qb_status status = make_token(token);
    if (status != QB_OK) return status;
    return serve(&server, words, sizeof words) == 0 ? QB_OK : complain(QB_IO, "%s", words);
}
