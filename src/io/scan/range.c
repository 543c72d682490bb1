/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "quickbeam/scan.h"

/* One number of A:B:S, `missing` if it is empty. *text moves to the next. */
static bool take(const char **text, long long missing, long long *number) {
    const long long most = 1LL << 60; /* the sum of two still fits */
    const char *at = *text;
    char *end = (char *)at;
    *number = missing;
    errno = 0;
    if (*at && *at != ':') {
        *number = strtoll(at, &end, 10);
        if (end == at || errno || *at == ' ' || *number > most || *number < -most) return false;
    }
    if (*end == ':')
        end++;
    else if (*end)
        return false;
    *text = end;
    return true;
}

qb_status qb_range_parse(const char *text, const char *what, size_t n, size_t *first, size_t *end, size_t *step) {
    QB__NEED(first);
    QB__NEED(end);
    QB__NEED(step);
    *first = 0;
    *end = n;
    *step = 1;
    if (!text || !*text) return QB_OK;
    const char *at = text;
    long long a, b, s = 1, items = (long long)n;
    bool good = take(&at, 0, &a), one = strchr(text, ':') == NULL;
    if (!good) a = 0;
    b = one && a != -1 ? a + 1 : items;
    if (good && !one) good = take(&at, items, &b);
    if (good && *at) good = take(&at, 1, &s) && !*at;
    if (!good || s < 1) return qb__fail(QB_BAD_ARGUMENT, "%s %s is not A:B or A:B:S with a positive step", what, text);
    if (a < 0) a += items;
    if (b < 0 || (one && b <= 0)) b += items;
    if (a < 0 || b > items || a >= b) return qb__fail(QB_BAD_ARGUMENT, "%s %s does not lie in 0:%zu", what, text, n);
    *first = (size_t)a;
    *end = (size_t)b;
    *step = (size_t)s;
    return QB_OK;
}
