/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_STATUS_H
#define QB_BASE_STATUS_H

#include <stdbool.h>

#include "quickbeam/status.h"

/* Set this thread's detail and return `status`, so that a failure is one line:
 *     return qb__fail(QB_BAD_INPUT, "%s: %zu angles for %zu views", path, n, views); */
__attribute__((format(printf, 2, 3))) qb_status qb__fail(qb_status status, const char *format, ...);

/* Put more words in front of the detail: "context: detail". */
__attribute__((format(printf, 2, 3))) qb_status qb__fail_in(qb_status status, const char *format, ...);

/* QB_NO_SPACE for ENOSPC and EDQUOT, QB_NOT_FOUND for ENOENT, QB_NO_MEMORY for ENOMEM, else QB_IO;
 * the detail is "`doing` `path`: system's words". */
qb_status qb__fail_errno(int error, const char *doing, const char *path);

/* Is this errno the system's doing (no permission, a failing disk, no descriptor left, no memory) and not the
 * content of a file or a name that leads nowhere? */
bool qb__is_system_fault(int error);

/* The first lines of a public call: what it cannot do without. */
#define QB__NEED(pointer)                                                                                              \
    do {                                                                                                               \
        if (!(pointer)) return qb__fail(QB_BAD_ARGUMENT, "%s: %s is NULL", __func__, #pointer);                        \
    } while (0)

/* Words from files and names may hold anything, and go to terminals: what is no printable character becomes a
 * blank, in place. */
void qb__printable(char *text);

/* Leave the function through its out: label when a call fails. */
#define QB__TRY(call)                                                                                                  \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != QB_OK) goto out;                                                                                 \
    } while (0)

#endif
