/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/warning.h"
#include "quickbeam/env.h"

/* Send a message to the caller's log; does nothing for a NULL env or callback. Calls are serialised. */
__attribute__((format(printf, 3, 4))) void qb__log(const qb_env *env, qb_log_level level, const char *format, ...);
#define qb__info(env, ...) qb__log(env, QB_LOG_INFO, __VA_ARGS__)
#define qb__warn(env, ...) qb__log(env, QB_LOG_WARNING, __VA_ARGS__)

void qb__progress(const qb_env *env, const char *what, uint64_t done, uint64_t total);
/* QB_BAD_ARGUMENT inside a callback: a call that starts threads would wait for ever for their messages. */
qb_status qb__check_callback(void);
bool qb__cancelled(const qb_env *env);
/* QB_CANCELLED with its detail if the caller has asked to stop, else QB_OK. */
qb_status qb__check_cancel(const qb_env *env);
