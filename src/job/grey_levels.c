/* SPDX-License-Identifier: MIT */
#include "job/grey_levels.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "io/writer.h"

qb_status qb__grey_levels_parse(const char *text, qb__grey_levels *window) {
    double limit[2];
    const char *end;
    *window = (qb__grey_levels){0};
    if (!text || strcmp(text, "auto") == 0) return QB_OK;
    if (qb__read_numbers(text, ',', 2, limit, &end) != 2 || *end || !(limit[0] < limit[1]) ||
        !isfinite(limit[1] - limit[0]))
        return qb__fail(QB_BAD_ARGUMENT, "--window %s: give LO,HI with LO < HI, or auto", text);
    *window = (qb__grey_levels){limit[0], limit[1], true};
    return QB_OK;
}

qb_status qb__grey_levels_choose(const char *text, const float *values, size_t count, qb__grey_levels *window) {
    qb_status status = qb__grey_levels_parse(text, window);
    if (status != QB_OK || window->asked) return status;
    status = qb__grey_window(values, count, &window->low, &window->high);
    if (!(window->low < window->high)) window->high = window->low + 1; /* all values are equal: show them black */
    return status;
}

void qb__grey_levels_report(const qb__grey_levels *window, cJSON *json) {
    const double limits[] = {window->low, window->high};
    cJSON_AddItemToObject(json, "window", cJSON_CreateDoubleArray(limits, 2));
    cJSON_AddStringToObject(json, "window_from", window->asked ? "--window" : "auto");
}

void qb__grey_levels_text(const qb__grey_levels *window, const char *units, char *text, size_t size) {
    if (!units) units = "";
    const bool per = strncmp(units, "1/", 2) == 0;
    qb__print(text, size, "black %.4g, white %.4g %s%s", window->low, window->high, per ? "per " : "",
              per ? units + 2 : units);
    for (char *c = text; *c; c++) *c = (char)tolower(*c);
}

float qb__grey_levels_shade(const qb__grey_levels *window, float value) {
    if (!isfinite(value)) return 0;
    return (float)fmin(fmax((value - window->low) / (window->high - window->low), 0), 1);
}
