/* SPDX-License-Identifier: MIT */
#include "zmq.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

bool view_zmq_open(view_zmq *zmq) {
    const struct {
        const char *name;
        void *to;
    } calls[] = {
        {"zmq_ctx_new", &zmq->ctx_new},   {"zmq_ctx_term", &zmq->ctx_term},     {"zmq_socket", &zmq->socket},
        {"zmq_close", &zmq->close},       {"zmq_setsockopt", &zmq->setsockopt}, {"zmq_connect", &zmq->connect},
        {"zmq_msg_init", &zmq->msg_init}, {"zmq_msg_recv", &zmq->msg_recv},     {"zmq_msg_close", &zmq->msg_close},
        {"zmq_msg_more", &zmq->msg_more}, {"zmq_msg_size", &zmq->msg_size},     {"zmq_msg_data", &zmq->msg_data},
        {"zmq_poll", &zmq->poll},         {"zmq_version", &zmq->version}};
    const char *path = getenv("QB_LIBZMQ"); /* path of libzmq, as QB_LIBCUDA for CUDA; an empty text: do without it */
    *zmq = (view_zmq){.library = path && !*path ? NULL : dlopen(path ? path : "libzmq.so.5", RTLD_NOW | RTLD_LOCAL)};
    bool all = zmq->library != NULL;
    for (size_t i = 0; all && i < sizeof calls / sizeof *calls; i++) {
        *(void **)calls[i].to = dlsym(zmq->library, calls[i].name);
        all = *(void **)calls[i].to != NULL;
    }
    if (!all) view_zmq_close(zmq);
    return all;
}

void view_zmq_close(view_zmq *zmq) {
    if (zmq->library) dlclose(zmq->library);
    *zmq = (view_zmq){0};
}

void view_zmq_describe(char *words, size_t size) {
    view_zmq zmq;
    int version[3] = {0};
    snprintf(words, size, "missing, install libzmq5; no building is needed");
    if (!view_zmq_open(&zmq)) return;
    zmq.version(&version[0], &version[1], &version[2]);
    snprintf(words, size, "found, %d.%d.%d", version[0], version[1], version[2]);
    view_zmq_close(&zmq);
}
