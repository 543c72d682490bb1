/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* Set this thread's detail and return `status`, so that a failure is one line:
 *     return qb__fail(QB_BAD_INPUT, "%s: %zu angles for %zu views", path, n, views); */
__attribute__((format(printf, 2, 3))) qb_status qb__fail(qb_status status, const char *format, ...);

/* Put a context in front of the detail: "context: detail". */
__attribute__((format(printf, 2, 3))) qb_status qb__fail_in(qb_status status, const char *format, ...);

/* QB_NO_SPACE for ENOSPC and EDQUOT, QB_NOT_FOUND for ENOENT, QB_NO_MEMORY for ENOMEM, else QB_IO. The detail is
 * "`doing` `path`: text of the system". */
qb_status qb__fail_errno(int error, const char *doing, const char *path);

/* True if this errno is a failure of the system (no permission, a failing disk, too many open files, no memory), and
 * not caused by the content of a file or a wrong name. */
bool qb__is_system_fault(int error);

/* Checks at the beginning of a public call: arguments that may not be NULL. */
#define QB__NEED(pointer)                                                                                              \
    do {                                                                                                               \
        if (!(pointer)) return qb__fail(QB_BAD_ARGUMENT, "%s: %s is NULL", __func__, #pointer);                        \
    } while (0)

/* Text from files and names may hold anything, and is printed on terminals: replace characters that are not printable
 * by blanks, in place. */
void qb__printable(char *text);
/* vsnprintf for messages: printable, and a count of 1 is followed by the singular ("%zu views are": "1 view is"). */
void qb__say(char *text, size_t size, const char *format, va_list args);

/* Jump to the function's label `out` if a call fails. */
#define QB__TRY(call)                                                                                                  \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != QB_OK) goto out;                                                                                 \
    } while (0)

/* Return the status of a call that fails, from a function that has nothing to release. */
#define QB__OR_RETURN(call)                                                                                            \
    do {                                                                                                               \
        const qb_status failed_ = (call);                                                                              \
        if (failed_ != QB_OK) return failed_;                                                                          \
    } while (0)
