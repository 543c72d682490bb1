/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char detail[1024];

const char *qb_status_text(qb_status status) {
    switch (status) {
#define CASE(name, code, text)                                                                                         \
    case QB_##name: return text;
        QB_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown status";
}

int qb_status_exit_code(qb_status status) {
    switch (status) {
#define CASE(name, code, text)                                                                                         \
    case QB_##name: return code;
        QB_STATUS_LIST(CASE)
#undef CASE
    }
    return 1;
}

const char *qb_detail(void) { return detail; }

qb_status qb__fail(qb_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    qb__say(detail, sizeof detail, format, args);
    va_end(args);
    return status;
}

qb_status qb__fail_in(qb_status status, const char *format, ...) {
    char inner[sizeof detail];
    memcpy(inner, detail, sizeof inner);
    va_list args;
    va_start(args, format);
    qb__say(detail, sizeof detail, format, args);
    va_end(args);
    const size_t n = strlen(detail);
    snprintf(detail + n, sizeof detail - n, ": %.900s", inner);
    return status;
}

qb_status qb__fail_errno(int error, const char *doing, const char *path) {
    qb_status status = QB_IO;
    if (error == ENOSPC || error == EDQUOT) status = QB_NO_SPACE;
    if (error == ENOENT || error == ENOTDIR) status = QB_NOT_FOUND;
    if (error == ENOMEM) status = QB_NO_MEMORY;
    return qb__fail(status, "%s %s: %s", doing, path, strerror(error));
}

bool qb__is_system_fault(int error) {
    static const int faults[] = {EACCES, EPERM, EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ENODEV, ETIMEDOUT, EREMOTEIO};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (error == faults[i]) return true;
    return false;
}
