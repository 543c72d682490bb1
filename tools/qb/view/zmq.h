/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The part of libzmq that qb live needs. The library is opened at run time and never linked. */

typedef struct view_zmq_message {
    _Alignas(16) unsigned char room[64]; /* storage of a zmq_msg_t; libzmq guarantees its size */
} view_zmq_message;

typedef struct view_zmq_poll {
    void *socket;
    int file;
    short events, found;
} view_zmq_poll;

enum {
    VIEW_ZMQ_SUB = 2,
    VIEW_ZMQ_PULL = 7,
    VIEW_ZMQ_SUBSCRIBE = 6,
    VIEW_ZMQ_LINGER = 17,
    VIEW_ZMQ_RCVHWM = 24,
    VIEW_ZMQ_MAXMSGSIZE = 22,
    VIEW_ZMQ_DONTWAIT = 1,
    VIEW_ZMQ_POLLIN = 1
};

typedef struct view_zmq {
    void *library;
    void *(*ctx_new)(void);
    int (*ctx_term)(void *context);
    void *(*socket)(void *context, int type);
    int (*close)(void *socket);
    int (*setsockopt)(void *socket, int option, const void *value, size_t size);
    int (*connect)(void *socket, const char *address);
    int (*msg_init)(view_zmq_message *message);
    int (*msg_recv)(view_zmq_message *message, void *socket, int flags);
    int (*msg_close)(view_zmq_message *message);
    int (*msg_more)(const view_zmq_message *message);
    size_t (*msg_size)(const view_zmq_message *message);
    void *(*msg_data)(view_zmq_message *message);
    int (*poll)(view_zmq_poll *items, int count, long milliseconds);
    void (*version)(int *major, int *minor, int *patch);
} view_zmq;

/* Opens libzmq; false where there is none. */
bool view_zmq_open(view_zmq *zmq);
void view_zmq_close(view_zmq *zmq);
/* Writes "found, 4.3.4", or what to install. */
void view_zmq_describe(char *words, size_t size);
