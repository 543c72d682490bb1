/* SPDX-License-Identifier: MIT */
#include "io/scan/frame_list.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "quickbeam/scan.h"

static qb_status take_item(const char *item, const char *what, size_t count, bool *out) {
    size_t first, end, step;
    QB__OR_RETURN(qb_range_parse(item, what, count, &first, &end, &step));
    for (size_t i = first; i < end; i += step) out[i] = true;
    return QB_OK;
}

qb_status qb__frame_list_parse(const char *text, const char *what, size_t count, bool *out) {
    qb_status status = QB_OK;
    while (text && *text && status == QB_OK) {
        char item[64];
        const size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof item || (text[length] && !text[length + 1]))
            return qb__fail(QB_BAD_ARGUMENT, "%s takes numbers and ranges like 141:227,300, not %.60s", what, text);
        snprintf(item, sizeof item, "%.*s", (int)length, text);
        status = take_item(item, what, count, out);
        text += length + (text[length] != 0);
    }
    return status;
}

size_t qb__frame_list_words(const bool *set, size_t count, char *words, size_t size) {
    size_t found = 0, used = 0;
    *words = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = i;
        char item[64];
        if (!set[i]) continue;
        while (end + 1 < count && set[end + 1]) end++;
        found += end - i + 1;
        const char *comma = used ? ", " : "";
        if (end > i + 1)
            snprintf(item, sizeof item, "%s%zu-%zu", comma, i, end);
        else if (end > i)
            snprintf(item, sizeof item, "%s%zu, %zu", comma, i, end);
        else
            snprintf(item, sizeof item, "%s%zu", comma, i);
        const size_t more = strlen(item);
        if (used != size && used + more + 6 < size) {
            memcpy(words + used, item, more + 1);
            used += more;
        } else if (used != size) {
            snprintf(words + used, size - used, ", ...");
            used = size; /* the text is full */
        }
        i = end;
    }
    return found;
}
