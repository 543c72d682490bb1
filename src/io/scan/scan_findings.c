/* SPDX-License-Identifier: MIT */
/* Faulty frames of a scan: a sentence among its problems, and a row for programs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "io/scan/frame_look.h"

void qb__scan_find(qb_scan *scan, const qb__finding *finding, qb_problem kind, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    qb__say(text, sizeof text, format, args);
    va_end(args);
    qb__note_of(&scan->parts.notes, kind, "%s", text);
    qb__findings *found = &scan->found;
    if (found->count < QB__FINDINGS) found->list[found->count++] = *finding;
}

void qb__scan_refuse(qb_scan *scan, const char *format, ...) {
    va_list args;
    if (*scan->refused) return; /* the first reason is kept */
    va_start(args, format);
    qb__say(scan->refused, sizeof scan->refused, format, args);
    va_end(args);
    qb__note_of(&scan->parts.notes, QB_PROBLEM_FRAMES, "%s" QB__CODE("scan-unusable"), scan->refused);
}

void qb__scan_refuse_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least) {
    qb__scan_refuse(scan,
                    "%s reach %g, which no detector gives: they look like %s read as %s; give --unsigned, or add %.0f "
                    "where a program took that off",
                    what, (double)least, qb__unsigned_name(dtype), qb_dtype_name(dtype), qb__signed_offset(dtype));
}

void qb__scan_note_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least) {
    qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                "%s reach %g: they look like %s read as %s; give --unsigned" QB__CODE("counts-negative"), what,
                (double)least, qb__unsigned_name(dtype), qb_dtype_name(dtype));
}

qb_status qb__scan_usable(const qb_scan *scan) {
    return *scan->refused ? qb__fail(QB_BAD_INPUT, "%s: %s", scan->info.path, scan->refused) : QB_OK;
}

/* " [views-blank]" without the brackets. */
static void add_code(cJSON *object, const char *code) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(code + 2, "]"), code + 2);
    cJSON_AddStringToObject(object, "code", word);
}

static cJSON *list_findings(const qb_scan *scan) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; scan && i < scan->found.count; i++) {
        const qb__finding *f = &scan->found.list[i];
        cJSON *object = cJSON_CreateObject();
        add_code(object, f->code);
        cJSON_AddStringToObject(object, "what", f->what);
        cJSON_AddStringToObject(object, "which", f->which);
        cJSON_AddNumberToObject(object, "count", (double)f->count);
        cJSON_AddNumberToObject(object, "of", (double)f->of);
        cJSON_AddStringToObject(object, "done", f->done);
        cJSON_AddItemToArray(list, object);
    }
    return list;
}

void qb__scan_add_findings(const qb_scan *scan, cJSON *report) {
    cJSON_AddItemToObject(report, "findings", list_findings(scan));
    if (scan && scan->info.masked) cJSON_AddNumberToObject(report, "masked_pixels", (double)scan->info.masked);
    if (scan && scan->info.looked_views < scan->info.views)
        cJSON_AddNumberToObject(report, "looked_views", (double)scan->info.looked_views);
}

qb_status qb_scan_findings(const qb_scan *scan, char **json) {
    QB__NEED(scan);
    QB__NEED(json);
    *json = NULL;
    qb__json_forget();
    return qb__json_text(list_findings(scan), "the findings", json);
}
