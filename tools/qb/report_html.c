/* SPDX-License-Identifier: MIT */
/* --report: one HTML page that works without a network. It shows what was done: the command, scan and volume, geometry,
 * slices, histogram and times. The page itself is report/page.html; this file collects its data as a JSON object. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "report_html.h"

extern const unsigned char report_page[]; /* the text of report/page.html */

enum { BINS = 160, SAMPLES = 1 << 18 };

/* ---- while the job writes its slabs ---- */

/* Three slices through the middle, and evenly spaced values for the histogram. */
typedef struct html_report {
    size_t n[3]; /* number of voxels along z, y, x */
    float *slice[3], *line, *sample;
    size_t samples, seen, every;
    bool lost; /* memory ran out: the page has no slices and no histogram */
} html_report;

static float *room(html_report *r, size_t count) {
    float *values = malloc(count * sizeof *values);
    if (!values) r->lost = true;
    return values;
}

static void begin(html_report *r, const size_t shape[3]) {
    memcpy(r->n, shape, sizeof r->n);
    const size_t count = shape[0] * shape[1] * shape[2];
    r->every = count / SAMPLES + 1;
    r->slice[0] = room(r, shape[1] * shape[2]);
    r->slice[1] = room(r, shape[0] * shape[2]);
    r->slice[2] = room(r, shape[0] * shape[1]);
    r->line = room(r, shape[1] * shape[2]);
    r->sample = room(r, count / r->every + 1);
}

static void look_at_image(html_report *r, size_t z) {
    const size_t rows = r->n[1], columns = r->n[2];
    if (z == r->n[0] / 2) memcpy(r->slice[0], r->line, rows * columns * sizeof *r->line);
    memcpy(r->slice[1] + z * columns, r->line + rows / 2 * columns, columns * sizeof *r->line);
    for (size_t y = 0; y < rows; y++) r->slice[2][z * rows + y] = r->line[y * columns + columns / 2];
    for (size_t i = (r->every - r->seen % r->every) % r->every; i < rows * columns; i += r->every)
        if (isfinite(r->line[i])) r->sample[r->samples++] = r->line[i];
    r->seen += rows * columns;
}

static qb_status look(void *user, const qb_slab *slab) {
    html_report *r = user;
    const size_t pixels = slab->shape[1] * slab->shape[2], bytes = pixels * qb_dtype_size(slab->dtype);
    if (!r->line && !r->lost) begin(r, slab->shape);
    if (r->lost) return QB_OK;
    const double low = slab->scale_low, span = slab->scale_high - low, most = slab->dtype == QB_U8 ? 255 : 65535;
    for (size_t i = 0; i < slab->count; i++) {
        qb_convert_to_float((const char *)slab->data + i * bytes, slab->dtype, pixels, r->line);
        if (!qb_dtype_is_float(slab->dtype))
            for (size_t k = 0; k < pixels; k++) r->line[k] = (float)(low + (double)r->line[k] / most * span);
        look_at_image(r, slab->first + i);
    }
    return QB_OK;
}

qb_status html_report_begin(cli *c) {
    const char *file = c->options.report.file, *ending = file ? strrchr(file, '.') : NULL;
    if (!file || c->options.run.dry_run) return QB_OK;
    if (!ending || (strcmp(ending, ".html") != 0 && strcmp(ending, ".htm") != 0))
        return complain(QB_BAD_ARGUMENT, "--report %s: it is a page, give a name that ends in .html", file);
    if (qb_ranks_count(c->env.ranks) > 1)
        return complain(QB_BAD_ARGUMENT, "--report is of one process, and here are %d: leave it out",
                        qb_ranks_count(c->env.ranks));
    c->page = calloc(1, sizeof *c->page);
    if (!c->page) return complain(QB_NO_MEMORY, "no memory for the report %s", file);
    c->options.output.slab = look;
    c->options.output.slab_user = c->page;
    return QB_OK;
}

void html_report_end(cli *c) {
    html_report *r = c->page;
    if (!r) return;
    for (int i = 0; i < 3; i++) free(r->slice[i]);
    free(r->line);
    free(r->sample);
    free(r);
    c->page = NULL;
}

/* ---- the volume ---- */

static double equal(double a, double b) { return fabs(a - b) < 1e-6 * fabs(a) ? a : 0; }

static void add_slices(cJSON *root, const html_report *r, const cJSON *plan) {
    cJSON *list = cJSON_AddArrayToObject(root, "slices");
    const cJSON *voxel = cJSON_GetObjectItem(plan, "voxel");
    const bool known = strcmp(text(plan, "units"), "1/pixel") != 0 && cJSON_GetArraySize(voxel) == 3;
    double mm[3] = {0};
    for (int i = 0; known && i < 3; i++) mm[i] = cJSON_GetArrayItem(voxel, i)->valuedouble;
    if (r->lost || !r->line) return;
    const char *units = text(plan, "units");
    add_image(list, r->slice[0],
              &(image){.title = "middle slice (x right, y up)",
                       .units = units,
                       .axes = {"x", "y"},
                       .wide = r->n[2],
                       .high = r->n[1],
                       .mm = equal(mm[0], mm[1]),
                       .up = true});
    if (r->n[0] < 4) return;
    add_image(list, r->slice[1],
              &(image){.title = "along y (x right, z up)",
                       .units = units,
                       .axes = {"x", "z"},
                       .wide = r->n[2],
                       .high = r->n[0],
                       .mm = equal(mm[0], mm[2]),
                       .up = true});
    add_image(list, r->slice[2],
              &(image){.title = "along x (y right, z up)",
                       .units = units,
                       .axes = {"y", "z"},
                       .wide = r->n[1],
                       .high = r->n[0],
                       .mm = equal(mm[1], mm[2]),
                       .up = true});
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void add_histogram(cJSON *root, const html_report *r) {
    int counts[BINS] = {0};
    if (r->lost || r->samples < 2) return;
    qsort(r->sample, r->samples, sizeof *r->sample, ascending);
    const double low = r->sample[r->samples / 1000], high = r->sample[r->samples - 1 - r->samples / 1000];
    if (!(high > low)) return;
    for (size_t i = 0; i < r->samples; i++) {
        const double at = ((double)r->sample[i] - low) / (high - low) * BINS;
        if (at >= 0 && at <= BINS) counts[at < BINS ? (int)at : BINS - 1]++;
    }
    cJSON *json = cJSON_AddObjectToObject(root, "histogram");
    cJSON_AddNumberToObject(json, "low", low);
    cJSON_AddNumberToObject(json, "high", high);
    cJSON_AddItemToObject(json, "counts", cJSON_CreateIntArray(counts, BINS));
}

/* ---- the page ---- */

/* Adds the meaning of each warning code that occurs in the warnings. */
static void add_codes(cJSON *root) {
    const cJSON *warning;
    cJSON *codes = cJSON_AddObjectToObject(root, "codes");
    cJSON_ArrayForEach(warning, cJSON_GetObjectItem(root, "warnings")) {
        char code[64];
        const char *open = strrchr(warning->valuestring, '[');
        if (!open || sscanf(open, "[%63[^]]]", code) != 1 || !qb_warning_text(code)) continue;
        if (!cJSON_GetObjectItem(codes, code)) cJSON_AddStringToObject(codes, code, qb_warning_text(code));
    }
}

/* Bytes of programs and libraries in memory, which are files and do not count for --max-ram. */
static double bytes_of_files(void) {
    char line[256];
    double kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssFile: %lf kB", &kilobytes) == 1) break;
    if (status) fclose(status);
    return 1024 * kilobytes;
}

static void add_about(cJSON *root, const cli *c) {
    char date[64];
    const time_t now = time(NULL);
    struct tm local;
    struct rusage usage;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
    getrusage(RUSAGE_SELF, &usage);
    cJSON_AddStringToObject(root, "version", qb_version());
    cJSON_AddStringToObject(root, "date", date);
    cJSON_AddStringToObject(root, "command", c->command);
    cJSON_AddNumberToObject(root, "peak_bytes", 1024.0 * (double)usage.ru_maxrss - bytes_of_files());
    show_warnings(root);
    add_codes(root);
}

/* Prints JSON for a script element: "<" is escaped so that no text can end the element, and bytes that are not UTF-8
 * are escaped, too. */
static void print_safely(const char *text, FILE *out) {
    for (size_t n; *text; text += n ? n : 1) {
        n = utf8_length(text);
        if (n == 1 && *text == '<')
            fputs("\\u003c", out);
        else if (n)
            fwrite(text, 1, n, out);
        else
            fprintf(out, "\\\\x%02x", (unsigned char)*text);
    }
}

static char *page_of(const cJSON *root) {
    static const char place[] = "@DATA@";
    const char *whole = (const char *)report_page, *at = strstr(whole, place);
    char *json = cJSON_PrintUnformatted(root), *page = NULL;
    size_t bytes = 0;
    FILE *out = json ? open_memstream(&page, &bytes) : NULL;
    if (out) {
        fwrite(whole, 1, (size_t)(at - whole), out);
        print_safely(json, out);
        fputs(at + strlen(place), out);
        if (fclose(out) != 0) {
            free(page);
            page = NULL;
        }
    }
    cJSON_free(json);
    return page;
}

static double seconds_since(const struct timespec *from) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from->tv_sec) + 1e-9 * (double)(now.tv_nsec - from->tv_nsec);
}

qb_status html_report_write(cli *c, qb_scan *scan, const qb_geometry *geometry, const char *plan, const char *report) {
    struct timespec from;
    clock_gettime(CLOCK_MONOTONIC, &from);
    cJSON *root = cJSON_CreateObject(), *planned = cJSON_Parse(plan);
    add_about(root, c);
    add_slices(root, c->page, planned);
    add_histogram(root, c->page);
    cJSON *done = cJSON_Parse(report);
    report_scan_add(root, c, scan, geometry, planned, done);
    report_drawing_add(root, scan, geometry, planned, done);
    cJSON_AddItemToObject(root, "plan", planned ? planned : cJSON_CreateObject());
    cJSON_AddItemToObject(root, "report", done ? done : cJSON_CreateObject());
    cJSON_AddNumberToObject(root, "page_seconds", seconds_since(&from));
    char *page = page_of(root);
    cJSON_Delete(root);
    const qb_status status = page ? qb_file_write(c->options.report.file, page)
                                  : complain(QB_NO_MEMORY, "no memory for the report %s", c->options.report.file);
    free(page);
    return status;
}
