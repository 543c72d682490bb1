/* SPDX-License-Identifier: MIT */
/* Answers the page's requests about files: /info once, then parts of planes, values under the cursor and lines. Numbers
 * are sent as little-endian float32, everything else as JSON. Every request is checked here, whoever sent it. */
#include "data.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plane.h"
#include "query.h"

enum { LINE_MOST = 4096 };

typedef struct file {
    qb_volume *volume;
    view_stack stack; /* the volume's images, as the page reads them */
    const char *path;
    struct stat opened; /* how the file was when it was opened */
    char *about;        /* JSON of /info for this file; made at the first request */
} file;

/* Numbers of volumes in requests: 0 and 1 are files; FIELDS and above are the fields of file 0. */
enum { FIELDS = 3 };

struct view_data {
    file file[2];
    int count;
    view_fields *fields;  /* fields of the scan; NULL: file 0 is no scan, or there are two files */
    pthread_mutex_t lock; /* protects `about` and the descriptions of the fields */
};

static qb_status read_file(void *user, const size_t first[3], const size_t count[3], const size_t step[3], float *out) {
    return qb_volume_read(user, first, count, step, out);
}

static const view_stack *stack_of(view_data *data, const char *query) {
    size_t which = 0;
    if (view_find(query, "volume") && !view_numbers(query, "volume", 1, &which)) return NULL;
    if (which >= FIELDS) return view_fields_stack(data->fields, which - FIELDS);
    return which < (size_t)data->count ? &data->file[which].stack : NULL;
}

/* ---- /info ---- */

/* The y and z axes of a volume point up. Detector images are drawn as they lie in the file. */
static bool points_up(const qb_array_info *info) {
    return strcmp(info->quantity, "attenuation") == 0 || strcmp(info->quantity, "Hounsfield") == 0 ||
           strcmp(info->quantity, "volume") == 0;
}

static char *describe(const file *s) {
    const qb_array_info *info = s->stack.info;
    const char *slash = strrchr(s->path, '/');
    const double shape[3] = {(double)info->shape[0], (double)info->shape[1], (double)info->shape[2]};
    char *made = NULL;
    cJSON *about = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "name", slash && slash[1] ? slash + 1 : s->path);
    cJSON_AddStringToObject(about, "format", info->format);
    cJSON_AddStringToObject(about, "dtype", qb_dtype_name(info->dtype));
    cJSON_AddStringToObject(about, "quantity", info->quantity);
    cJSON_AddStringToObject(about, "units", info->units);
    cJSON_AddBoolToObject(about, "volume", points_up(info));
    cJSON_AddItemToObject(about, "shape", cJSON_CreateDoubleArray(shape, 3));
    cJSON_AddItemToObject(about, "voxel", cJSON_CreateDoubleArray(info->voxel, 3));
    cJSON_AddItemToObject(about, "offset", cJSON_CreateDoubleArray(info->offset, 3));
    view_levels_add(about, &s->stack);
    if (qb_provenance_load(s->path, &made) == QB_OK && made) cJSON_AddItemToObject(about, "made", cJSON_Parse(made));
    qb_text_free(made);
    char *text = cJSON_PrintUnformatted(about);
    cJSON_Delete(about);
    return text;
}

static view_answer info(view_data *data, const char *query) {
    (void)query;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "volumes");
    cJSON_AddStringToObject(root, "version", qb_version());
    pthread_mutex_lock(&data->lock);
    for (int i = 0; i < data->count; i++) {
        file *s = &data->file[i];
        if (!s->about) s->about = describe(s);
        cJSON_AddItemToArray(list, s->about ? cJSON_CreateRaw(s->about) : cJSON_CreateNull());
    }
    view_fields_add(root, data->fields, FIELDS);
    pthread_mutex_unlock(&data->lock);
    return view_json(root);
}

/* ---- /plane?axis=0&index=7&first=0,0&count=512,512&step=1[&thick=1&how=mean][&draft=1][&volume=0] ---- */

static view_answer plane(view_data *data, const char *query) {
    static const char *const hows[VIEW_HOWS] = {"mean", "max", "min"};
    view_plane p = {.thick = 1, .draft = view_find(query, "draft") != NULL};
    char words[VIEW_WORDS] = "";
    const char *how = view_find(query, "how");
    const view_stack *s = stack_of(data, query);
    if (!s || !view_numbers(query, "axis", 1, &p.axis) || !view_numbers(query, "index", 1, &p.index) ||
        !view_numbers(query, "first", 2, p.first) || !view_numbers(query, "count", 2, p.count) ||
        !view_numbers(query, "step", 1, &p.step) ||
        (view_find(query, "thick") && !view_numbers(query, "thick", 1, &p.thick)))
        return view_say(400, "a plane wants axis, index, first, count and step");
    for (p.how = VIEW_MEAN; how && p.how < VIEW_HOWS; p.how++)
        if (strncmp(how, hows[p.how], strlen(hows[p.how])) == 0) break;
    if (view_plane_check(s->info, &p, words) != QB_OK) return view_say(400, "%s", words);
    float *values = malloc(p.count[0] * p.count[1] * sizeof *values);
    if (!values) return view_say(500, "no memory for %zu x %zu values", p.count[0], p.count[1]);
    const qb_status status = view_plane_read(s, &p, values);
    if (status == QB_OK) return view_values(values, p.count[0] * p.count[1]);
    free(values);
    return view_failed(status);
}

/* ---- /value?at=z,y,x[&volume=3]: the value in each file, or in one volume ---- */

static view_answer value(view_data *data, const char *query) {
    const size_t one[3] = {1, 1, 1};
    size_t at[3];
    if (!view_numbers(query, "at", 3, at)) return view_say(400, "a value wants at=Z,Y,X");
    const bool alone = view_find(query, "volume") != NULL;
    const view_stack *s = alone ? stack_of(data, query) : NULL;
    if (alone && !s) return view_say(400, "there is no such volume");
    for (int j = 0; j < 3; j++)
        if (at[j] >= data->file[0].stack.info->shape[j]) return view_say(400, "the place is outside");
    const size_t count = alone ? 1 : (size_t)data->count;
    float *values = malloc(count * sizeof *values);
    qb_status status = values ? QB_OK : QB_NO_MEMORY;
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        const view_stack *from = alone ? s : &data->file[i].stack;
        status = from->read(from->user, at, one, one, &values[i]);
    }
    if (status == QB_OK) return view_values(values, count);
    free(values);
    return view_failed(status);
}

/* ---- /line?from=z,y,x&to=z,y,x&count=512: evenly spaced values on a line, interpolated; places in hundredths of a
 * voxel ---- */

enum { PARTS = 100 };

static qb_status value_between(const view_stack *from, const double at[3], float *out) {
    const size_t *n = from->info->shape, step[3] = {1, 1, 1};
    size_t first[3], count[3];
    double share[3], sum = 0;
    float near[8];
    for (int j = 0; j < 3; j++) {
        const double low = fmin(floor(at[j]), (double)(n[j] - 1));
        first[j] = (size_t)low;
        share[j] = at[j] - low;
        count[j] = first[j] + 1 < n[j] && share[j] > 0 ? 2 : 1;
    }
    const qb_status status = from->read(from->user, first, count, step, near);
    for (size_t k = 0; status == QB_OK && k < count[0] * count[1] * count[2]; k++) {
        const size_t z = k / (count[1] * count[2]), y = k / count[2] % count[1], x = k % count[2];
        sum += (double)near[k] * (z ? share[0] : 1 - share[0]) * (y ? share[1] : 1 - share[1]) *
               (x ? share[2] : 1 - share[2]);
    }
    *out = (float)sum;
    return status;
}

static view_answer line(view_data *data, const char *query) {
    size_t from[3], to[3], count;
    const view_stack *s = stack_of(data, query);
    if (!s || !view_numbers(query, "from", 3, from) || !view_numbers(query, "to", 3, to) ||
        !view_numbers(query, "count", 1, &count) || count < 2 || count > LINE_MOST)
        return view_say(400, "a line wants from=Z,Y,X, to=Z,Y,X and a count of 2 to %d", LINE_MOST);
    const size_t *n = s->info->shape;
    for (int j = 0; j < 3; j++)
        if (from[j] > PARTS * (n[j] - 1) || to[j] > PARTS * (n[j] - 1))
            return view_say(400, "the line leaves the volume");
    float *values = malloc(count * sizeof *values);
    qb_status status = values ? QB_OK : QB_NO_MEMORY;
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        const double share = (double)i / (double)(count - 1);
        double at[3];
        for (int j = 0; j < 3; j++) at[j] = ((1 - share) * (double)from[j] + share * (double)to[j]) / PARTS;
        status = value_between(s, at, &values[i]);
    }
    if (status == QB_OK) return view_values(values, count);
    free(values);
    return view_failed(status);
}

/* ---- /oblique?at=z,y,x&down=z,y,x&right=z,y,x&count=512,512 ---- */

static view_answer oblique(view_data *data, const char *query) {
    view_oblique o;
    const view_stack *s = stack_of(data, query);
    if (!s || !view_oblique_parse(query, &o))
        return view_say(400, "an oblique plane wants at, down and right as Z,Y,X, and a count");
    float *values = malloc(o.count[0] * o.count[1] * sizeof *values);
    const qb_status status = values ? view_oblique_read(s, &o, values) : QB_NO_MEMORY;
    if (status == QB_OK) return view_values(values, o.count[0] * o.count[1]);
    free(values);
    return view_failed(status);
}

/* ---- table of requests ---- */

/* Says that a file is not what was opened. Its old values may be gone, and its new values may have another shape. */
static bool has_changed(const view_data *data, view_answer *answer) {
    for (int i = 0; i < data->count; i++) {
        const file *f = &data->file[i];
        struct stat now;
        const bool there = stat(f->path, &now) == 0;
        if (S_ISDIR(f->opened.st_mode)) continue; /* its files are opened when they are read */
        if (there && now.st_ino == f->opened.st_ino && now.st_size == f->opened.st_size &&
            now.st_mtim.tv_sec == f->opened.st_mtim.tv_sec && now.st_mtim.tv_nsec == f->opened.st_mtim.tv_nsec)
            continue;
        *answer = view_say(500, "%.500s %s since it was opened: start qb view again", f->path,
                           there ? "has changed" : "was moved or removed");
        return true;
    }
    return false;
}

view_answer view_data_answer(void *data, const char *path, const char *query, const volatile sig_atomic_t *gone) {
    (void)gone;
    static const struct {
        const char *path;
        view_answer (*make)(view_data *data, const char *query);
    } rows[] = {{"/info", info}, {"/plane", plane}, {"/value", value}, {"/line", line}, {"/oblique", oblique}};
    view_answer changed;
    if (has_changed(data, &changed)) return changed;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(path, rows[i].path) == 0) return rows[i].make(data, query);
    return view_say(404, "there is nothing of that name");
}

view_lane view_data_lane(void *data, const char *path, const char *query) {
    (void)data, (void)path, (void)query;
    return VIEW_QUICK;
}

qb_status view_data_open(const char *const paths[2], const char *dataset, view_data **data) {
    view_data *made = calloc(1, sizeof *made);
    qb_status status = made ? QB_OK : QB_NO_MEMORY;
    *data = made;
    if (made) pthread_mutex_init(&made->lock, NULL);
    for (int i = 0; status == QB_OK && i < 2 && paths[i]; i++) {
        file *f = &made->file[i];
        f->path = paths[i];
        status = qb_volume_open(paths[i], dataset, &f->volume);
        if (status != QB_OK) break;
        f->stack = (view_stack){qb_volume_info(f->volume), read_file, f->volume};
        if (stat(paths[i], &f->opened) != 0) f->opened = (struct stat){.st_mode = S_IFDIR}; /* a pattern of names */
        made->count = i + 1;
    }
    if (status == QB_OK && made->count == 1 && !points_up(made->file[0].stack.info))
        made->fields = view_fields_open(paths[0], dataset, made->file[0].stack.info);
    return status;
}

const qb_array_info *view_data_info(const view_data *data, int which) {
    return which < data->count ? data->file[which].stack.info : NULL;
}

void view_data_close(view_data *data) {
    if (!data) return;
    for (int i = 0; i < 2; i++) {
        qb_volume_close(data->file[i].volume);
        cJSON_free(data->file[i].about);
    }
    view_fields_close(data->fields);
    pthread_mutex_destroy(&data->lock);
    free(data);
}
