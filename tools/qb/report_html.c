/* SPDX-License-Identifier: MIT */
/* --report: one page, without a network, of what was done: the command, scan and volume, geometry, slices, histogram, times.
 * The page is report/page.html; this file gathers its data, a JSON object. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "report_html.h"

extern const unsigned char report_page[]; /* report/page.html, a text */

enum { SIDE = 768, BINS = 160, SAMPLES = 1 << 18, VIEWS = 360 };

/* ---- while slabs pass ---- */

/* Three slices through the middle, and evenly spaced values for the histogram. */
typedef struct html_report {
    size_t n[3]; /* z y x */
    float *slice[3], *line, *sample;
    size_t samples, seen, every;
    bool lost; /* no memory */
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
    const size_t image = slab->shape[1] * slab->shape[2], bytes = image * qb_dtype_size(slab->dtype);
    if (!r->line && !r->lost) begin(r, slab->shape);
    if (r->lost) return QB_OK;
    const double low = slab->scale_low, span = slab->scale_high - low, most = slab->dtype == QB_U8 ? 255 : 65535;
    for (size_t i = 0; i < slab->count; i++) {
        qb_convert_to_float((const char *)slab->data + i * bytes, slab->dtype, image, r->line);
        if (!qb_dtype_is_float(slab->dtype))
            for (size_t k = 0; k < image; k++) r->line[k] = (float)(low + (double)r->line[k] / most * span);
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

/* ---- pictures ---- */

typedef struct image {
    const char *title, *units, *axes[2];
    size_t wide, high;
    double mm; /* of a pixel, 0: not known, or other along both axes */
    bool up;   /* the first row is at the bottom */
} image;

static char *base64(const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(count / 3 * 4 + 5), *at = text;
    if (!text) return NULL;
    for (size_t i = 0; i < count; i += 3) {
        const unsigned three = (unsigned)bytes[i] << 16 | (i + 1 < count ? (unsigned)bytes[i + 1] << 8 : 0) |
                               (i + 2 < count ? bytes[i + 2] : 0);
        *at++ = digits[three >> 18];
        *at++ = digits[three >> 12 & 63];
        *at++ = i + 1 < count ? digits[three >> 6 & 63] : '=';
        *at++ = i + 2 < count ? digits[three & 63] : '=';
    }
    *at = 0;
    return text;
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Mean of the finite values of a block; NaN where there is none. */
static float mean(const float *values, const image *m, size_t x0, size_t y0, size_t step) {
    double sum = 0;
    size_t count = 0;
    for (size_t y = y0; y < y0 + step && y < m->high; y++)
        for (size_t x = x0; x < x0 + step && x < m->wide; x++)
            if (isfinite(values[y * m->wide + x])) sum += values[y * m->wide + x], count++;
    return count ? (float)(sum / (double)count) : NAN;
}

/* The values as 16 bits little-endian between their least and greatest; 65535 is what is no number. */
static void add_values(cJSON *json, const float *values, size_t count) {
    float *sorted = malloc(count * sizeof *sorted);
    unsigned char *bytes = malloc(2 * count);
    size_t n = 0;
    for (size_t i = 0; sorted && i < count; i++)
        if (isfinite(values[i])) sorted[n++] = values[i];
    if (sorted && n) qsort(sorted, n, sizeof *sorted, ascending);
    const double low = sorted && n ? sorted[0] : 0, high = sorted && n ? sorted[n - 1] : 0;
    const double window[2] = {sorted && n ? sorted[n / 200] : 0, sorted && n ? sorted[n - 1 - n / 200] : 0};
    for (size_t i = 0; bytes && i < count; i++) {
        const double share = high > low ? ((double)values[i] - low) / (high - low) : 0;
        const unsigned v = isfinite(values[i]) ? (unsigned)(share * 65534 + 0.5) : 65535;
        bytes[2 * i] = (unsigned char)(v & 255), bytes[2 * i + 1] = (unsigned char)(v >> 8);
    }
    char *text = bytes ? base64(bytes, 2 * count) : NULL;
    cJSON_AddNumberToObject(json, "low", low);
    cJSON_AddNumberToObject(json, "high_value", high);
    cJSON_AddItemToObject(json, "window", cJSON_CreateDoubleArray(window, 2));
    cJSON_AddStringToObject(json, "data", text ? text : "");
    free(sorted);
    free(bytes);
    free(text);
}

static void add_image(cJSON *list, const float *values, const image *m) {
    const size_t longest = m->wide > m->high ? m->wide : m->high, step = (longest + SIDE - 1) / SIDE;
    const size_t wide = (m->wide + step - 1) / step, high = (m->high + step - 1) / step;
    float *small = values ? malloc(wide * high * sizeof *small) : NULL;
    if (!small) return;
    for (size_t y = 0; y < high; y++)
        for (size_t x = 0; x < wide; x++) small[y * wide + x] = mean(values, m, x * step, y * step, step);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "title", m->title);
    cJSON_AddStringToObject(json, "units", m->units);
    cJSON_AddItemToObject(json, "axes", cJSON_CreateStringArray(m->axes, 2));
    cJSON_AddNumberToObject(json, "wide", (double)wide);
    cJSON_AddNumberToObject(json, "high", (double)high);
    cJSON_AddNumberToObject(json, "step", (double)step);
    cJSON_AddNumberToObject(json, "mm", m->mm * (double)step);
    cJSON_AddBoolToObject(json, "up", m->up);
    add_values(json, small, wide * high);
    cJSON_AddItemToArray(list, json);
    free(small);
}

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
              &(image){"middle slice (x right, y up)", units, {"x", "y"}, r->n[2], r->n[1], equal(mm[0], mm[1]), true});
    if (r->n[0] < 4) return;
    add_image(list, r->slice[1],
              &(image){"along y (x right, z up)", units, {"x", "z"}, r->n[2], r->n[0], equal(mm[0], mm[2]), true});
    add_image(list, r->slice[2],
              &(image){"along x (y right, z up)", units, {"y", "z"}, r->n[1], r->n[0], equal(mm[1], mm[2]), true});
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

/* ---- the scan ---- */

static bool read_rows(qb_scan *scan, size_t view, size_t row0, size_t row1, float *out) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = (row1 - row0) * info->columns;
    void *raw = malloc(count * qb_dtype_size(info->dtype));
    const bool good = raw && qb_scan_read(scan, view, view + 1, row0, row1, raw) == QB_OK;
    if (good) qb_convert_to_float(raw, info->dtype, count, out);
    free(raw);
    return good;
}

/* Line integrals of what is stored, as far as the fields say. */
static void normalise(const qb_scan_info *info, const float *flat, const float *dark, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) {
        double v = values[i];
        if (info->quantity == QB_COUNTS) v = (v - dark[i]) / ((double)flat[i] - dark[i]);
        values[i] = v > 0 ? (float)-log(v) : NAN;
    }
}

static void add_view(cJSON *list, qb_scan *scan, float *flat, float *dark) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = info->rows * info->columns, middle = info->views / 2;
    const bool fields = info->flats && qb_scan_fields(scan, 0, info->rows, flat, dark) == QB_OK;
    float *view = malloc(count * sizeof *view);
    char title[80];
    image m = {title, "", {"column", "row"}, info->columns, info->rows, equal(info->pixel_size, info->pixel_v), false};
    if (view && read_rows(scan, middle, 0, info->rows, view)) {
        snprintf(title, sizeof title, "view %zu as stored", middle);
        m.units = info->quantity == QB_COUNTS ? "counts" : "";
        add_image(list, view, &m);
        if (fields || info->quantity == QB_TRANSMISSION) {
            normalise(info, flat, dark, count, view);
            snprintf(title, sizeof title, "view %zu as line integrals", middle);
            m.units = "";
            add_image(list, view, &m);
        }
    }
    if (fields)
        add_image(list, flat,
                  &(image){"mean flat", "counts", {"column", "row"}, info->columns, info->rows, m.mm, false});
    free(view);
}

static void add_sinogram(cJSON *list, qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t views = info->views < VIEWS ? info->views : VIEWS, row = info->rows / 2;
    float *rows = malloc(views * info->columns * sizeof *rows);
    char title[80];
    size_t i = 0;
    while (rows && i < views && read_rows(scan, i * info->views / views, row, row + 1, rows + i * info->columns)) i++;
    snprintf(title, sizeof title, "sinogram of row %zu, %s, as stored", row,
             views < info->views ? "360 views" : "all views");
    if (rows && i == views)
        add_image(list, rows,
                  &(image){title,
                           info->quantity == QB_COUNTS ? "counts" : "",
                           {"column", "view"},
                           info->columns,
                           views,
                           0,
                           false});
    free(rows);
}

static void add_scan(cJSON *root, qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = info->rows * info->columns;
    cJSON *json = cJSON_AddObjectToObject(root, "scan"), *list = cJSON_AddArrayToObject(root, "scans");
    cJSON_AddNumberToObject(json, "flats", (double)info->flats);
    cJSON_AddNumberToObject(json, "darks", (double)info->darks);
    cJSON_AddNumberToObject(json, "pixel", info->pixel_size);
    float *flat = malloc(count * sizeof *flat), *dark = malloc(count * sizeof *dark);
    if (flat && dark) add_view(list, scan, flat, dark);
    add_sinogram(list, scan);
    free(flat);
    free(dark);
}

/* ---- the page ---- */

static char *read_text(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    if (size > 0 && (text = calloc((size_t)size + 1, 1)) && fread(text, 1, (size_t)size, file) != (size_t)size)
        text[0] = 0;
    fclose(file);
    return text;
}

/* The drawing that qb info --preview makes. */
static void add_drawing(cJSON *root, qb_scan *scan, const qb_geometry *given) {
    const qb_scan_info *info = qb_scan_describe(scan);
    char path[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/qb-report-XXXXXX.svg", folder && *folder ? folder : "/tmp");
    qb_geometry own = {0};
    if (!given && !(info->pixel_size > 0)) return; /* its scale is in mm */
    if (!given && info->angles &&
        qb_geometry_parallel(info->views, info->angles, info->rows, info->columns,
                             info->pixel_size > 0 ? info->pixel_size : 1, (double)(info->columns - 1) / 2,
                             &own) != QB_OK)
        return;
    const int file = given || own.views ? mkstemps(path, 4) : -1;
    if (file >= 0) {
        close(file);
        char *drawing = qb_geometry_picture(path, given ? given : &own, NULL) == QB_OK ? read_text(path) : NULL;
        const char *svg = drawing ? strstr(drawing, "<svg") : NULL;
        if (svg) cJSON_AddStringToObject(root, "drawing", svg);
        free(drawing);
        unlink(path);
    }
    qb_geometry_destroy(&own);
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
    cJSON_AddNumberToObject(root, "peak_bytes", 1024.0 * (double)usage.ru_maxrss);
    show_warnings(root);
}

/* JSON inside a script element: "<" ends no element, and what is not UTF-8 is no text. */
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

qb_status html_report_write(cli *c, qb_scan *scan, const qb_geometry *geometry, const char *plan, const char *report) {
    cJSON *root = cJSON_CreateObject(), *planned = cJSON_Parse(plan);
    add_about(root, c);
    add_slices(root, c->page, planned);
    add_histogram(root, c->page);
    add_scan(root, scan);
    add_drawing(root, scan, geometry);
    cJSON_AddItemToObject(root, "plan", planned ? planned : cJSON_CreateObject());
    cJSON_AddItemToObject(root, "report", cJSON_Parse(report));
    char *page = page_of(root);
    cJSON_Delete(root);
    const qb_status status = page ? qb_file_write(c->options.report.file, page)
                                  : complain(QB_NO_MEMORY, "no memory for the report %s", c->options.report.file);
    free(page);
    return status;
}
