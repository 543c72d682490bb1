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

/* Also the control characters 80 to 9f, as encoded in UTF-8. */
void qb__printable(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) at[0] = at[1] = ' ';
        if (*at < ' ' || *at == 0x7f) *at = ' ';
    }
}

qb_status qb__fail(qb_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    qb__printable(detail);
    return status;
}

qb_status qb__fail_in(qb_status status, const char *format, ...) {
    char inner[sizeof detail];
    memcpy(inner, detail, sizeof inner);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof detail) { snprintf(detail + n, sizeof detail - (size_t)n, ": %.900s", inner); }
    qb__printable(detail);
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
