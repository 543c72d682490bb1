/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_STATUS_H
#define QUICKBEAM_STATUS_H

#if defined(QB_BUILDING) && defined(__GNUC__)
#define QB_API __attribute__((visibility("default")))
#else
#define QB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every fallible call returns one of these. X(name, exit code of the qb command, text). */
#define QB_STATUS_LIST(X)                                                                                              \
    X(OK, 0, "done")                                                                                                   \
    X(NO_MEMORY, 1, "out of memory")                                                                                   \
    X(IO, 1, "input/output error")                                                                                     \
    X(NO_SPACE, 1, "no space left")                                                                                    \
    X(NO_DEVICE, 1, "no such device")                                                                                  \
    X(INTERNAL, 1, "internal error")                                                                                   \
    X(BAD_ARGUMENT, 2, "bad argument")                                                                                 \
    X(NOT_FOUND, 3, "not found")                                                                                       \
    X(BAD_INPUT, 3, "bad input")                                                                                       \
    X(UNSUPPORTED, 3, "not supported")                                                                                 \
    X(CANCELLED, 130, "interrupted")

typedef enum qb_status {
#define QB_STATUS_ENUM(name, code, text) QB_##name,
    QB_STATUS_LIST(QB_STATUS_ENUM)
#undef QB_STATUS_ENUM
} qb_status;

/* A few words for a status; never NULL. */
QB_API const char *qb_status_text(qb_status status);

/* The exit code the qb command ends with for a status: 0, 1, 2, 3 or 130. */
QB_API int qb_status_exit_code(qb_status status);

/* What exactly went wrong in the last failed call on this thread: the file, the number, the remedy.
 * Valid until the next quickbeam call on this thread; empty when nothing failed. */
QB_API const char *qb_detail(void);

/* Release a text that a call of this library has made for its caller (`char **`); NULL-safe. */
QB_API void qb_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
