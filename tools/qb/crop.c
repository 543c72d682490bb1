/* SPDX-License-Identifier: MIT */
/* --size object: finds the object in a coarse volume. The volume becomes the bounding box of the object and a
 * margin. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crop.h"

enum { COARSE = 96 /* Most voxels along the longest side of the coarse volume */, BINS = 256 };

bool crop_asked(cli *c, const qb_param *row, const char *value) {
    if (!(c->verb->abilities & PLANS) || c->verb->run == cmd_project) return false;
    if (strcmp(row->name, "size") != 0 || !value || strcmp(value, "object") != 0) return false;
    c->crop = true;
    return true;
}

static double element(const cJSON *object, const char *name, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(object, name), index)->valuedouble;
}

/* The volume that the verb would make: number of voxels, voxel size and the position of the middle, in mm, or in pixels
 * where mm are not known. */
typedef struct grid {
    size_t n[3]; /* number of voxels along x, y, z */
    double voxel[3], offset[3];
} grid;

static grid grid_of(const cJSON *plan) {
    grid g;
    for (int i = 0; i < 3; i++) {
        g.n[i] = (size_t)element(plan, "size", i);
        g.voxel[i] = element(plan, "voxel", i);
        g.offset[i] = element(plan, "offset", i);
    }
    return g;
}

/* ---- the coarse volume ---- */

/* The coarse volume, kept while the job writes its slabs. */
typedef struct seen {
    float *values; /* voxel values [z][y][x] */
    size_t shape[3];
} seen;

static qb_status keep(void *user, const qb_slab *slab) {
    seen *s = user;
    const size_t image = slab->shape[1] * slab->shape[2];
    if (!s->values) {
        memcpy(s->shape, slab->shape, sizeof s->shape);
        s->values = malloc(slab->shape[0] * image * sizeof *s->values);
        if (!s->values) return QB_NO_MEMORY;
    }
    memcpy(s->values + slab->first * image, slab->data, slab->count * image * sizeof *s->values);
    return QB_OK;
}

/* Makes the coarse volume. Its voxels are `step` of the verb's voxels apart along each axis, and the centre of each one
 * is the centre of a voxel of the verb's grid. */
static qb_status make_coarse(cli *c, qb_scan *scan, const qb_geometry *geometry, const grid *g, const size_t step[3],
                             seen *s) {
    const qb_output_options output = {.output = "/dev/null", .slab = keep, .slab_user = s};
    qb_env quiet = c->env;
    qb_job *job = NULL;
    char slices[64];
    void *target;
    const qb_param *center = find_row(c, "center", 0, &target);
    const size_t nx = (g->n[0] + step[0] - 1) / step[0], ny = (g->n[1] + step[1] - 1) / step[1];
    const qb_numbers size = {3, {(double)nx, (double)ny, (double)g->n[2]}};
    /* The offset puts the first coarse voxel on the first voxel of the verb's grid. */
    const qb_numbers offset = {
        3,
        {g->offset[0] + 0.5 * g->voxel[0] * ((double)((nx - 1) * step[0]) - (double)(g->n[0] - 1)),
         g->offset[1] + 0.5 * g->voxel[1] * ((double)((ny - 1) * step[1]) - (double)(g->n[1] - 1)), g->offset[2]}};
    snprintf(slices, sizeof slices, "0:%zu:%zu", g->n[2], step[2]);
    quiet.log = NULL, quiet.progress = NULL, quiet.writes = NULL;
    qb_fbp_options fbp = {.center = center ? *(char **)((char *)target + center->offset) : NULL,
                          .slices = slices,
                          .size = size,
                          .offset = offset,
                          .voxel = g->voxel[0] * (double)step[0],
                          .filter = "hann:0.5"};
    if (c->verb->run == cmd_fbp) fbp.geometry = c->options.fbp.geometry, fbp.tilt = c->options.fbp.tilt;
    const qb_fdk_options fdk = {
        .slices = slices,
        .size = size,
        .offset = offset,
        .voxels = {3, {g->voxel[0] * (double)step[0], g->voxel[1] * (double)step[1], g->voxel[2]}},
        .filter = "hann:0.5",
        .allow_limited = true};
    qb_status status = geometry ? qb_fdk_plan(scan, geometry, &c->options.prep, &fdk, &output, "qb", &quiet, &job)
                                : qb_fbp_plan(scan, &c->options.prep, &fbp, &output, "qb", &quiet, &job);
    if (status == QB_OK) status = qb_job_run(job, &quiet, NULL);
    qb_job_destroy(job);
    return status;
}

/* ---- the box ---- */

/* Otsu (1979): the threshold that divides the histogram into two classes with the largest variance between them. */
static float threshold_of(const float *values, size_t count) {
    double histogram[BINS] = {0}, all = 0, sum = 0, below = 0, below_sum = 0, best = -1;
    float low = INFINITY, high = -INFINITY, at = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) low = fminf(low, values[i]), high = fmaxf(high, values[i]);
    if (!(high > low)) return low;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) continue;
        const int bin = (int)((values[i] - low) / (high - low) * (BINS - 1));
        histogram[bin]++, all++, sum += bin;
    }
    for (int b = 0; b + 1 < BINS; b++) {
        below += histogram[b], below_sum += b * histogram[b];
        if (below == 0 || below == all) continue;
        const double apart = below_sum / below - (sum - below_sum) / (all - below),
                     between = below * (all - below) * apart * apart;
        if (between > best) best = between, at = low + (float)(b + 1) / (BINS - 1) * (high - low);
    }
    return at;
}

/* A bright voxel belongs to the object where it has bright neighbours along x and along y. Noise mostly has none. */
static bool is_object(const seen *s, float threshold, size_t z, size_t y, size_t x) {
    const size_t ny = s->shape[1], nx = s->shape[2];
    const float *at = s->values + (z * ny + y) * nx + x;
    const double dx = (double)x - 0.5 * ((double)nx - 1), dy = (double)y - 0.5 * ((double)ny - 1),
                 r = 0.5 * (double)(nx < ny ? nx : ny);
    if (!(at[0] > threshold) || dx * dx + dy * dy > r * r) return false;
    return ((x > 0 && at[-1] > threshold) || (x + 1 < nx && at[1] > threshold)) &&
           ((y > 0 && *(at - nx) > threshold) || (y + 1 < ny && at[nx] > threshold));
}

static bool find_box(const seen *s, size_t first[3], size_t end[3]) {
    const float threshold = threshold_of(s->values, s->shape[0] * s->shape[1] * s->shape[2]);
    bool any = false;
    for (size_t z = 0; z < s->shape[0]; z++)
        for (size_t y = 0; y < s->shape[1]; y++)
            for (size_t x = 0; x < s->shape[2]; x++) {
                const size_t at[3] = {x, y, z};
                if (!is_object(s, threshold, z, y, x)) continue;
                for (int i = 0; i < 3; i++) {
                    first[i] = any && first[i] < at[i] ? first[i] : at[i];
                    end[i] = any && end[i] > at[i] + 1 ? end[i] : at[i] + 1;
                }
                any = true;
            }
    return any;
}

/* Adds a margin of two coarse voxels on both sides of the box along axis i. The result is the range *from <= n < *to of
 * the verb's own grid. */
static void widen(const grid *g, int i, size_t step, size_t first, size_t end, size_t *from, size_t *to) {
    const size_t margin = 2 * step;
    *from = first * step > margin ? first * step - margin : 0;
    *to = (end - 1) * step + 1 + margin;
    *to = *to < g->n[i] ? *to : g->n[i];
}

/* For verbs without --offset: their volume lies about the axis, so the size must reach equally far to both sides. For
 * parallel beams --slices is set to the slices of the box. */
static qb_status give_middle(cli *c, bool cone, const grid *g, const size_t step[3], const size_t first[3],
                             const size_t end[3]) {
    void *sizes, *rows;
    const qb_param *size = find_row(c, "size", 0, &sizes), *slices = find_row(c, "slices", 0, &rows);
    size_t n[3], from, to;
    char text[96], said[220], range[64] = "";
    for (int i = 0; i < 3; i++) {
        widen(g, i, step[i], first[i], end[i], &from, &to);
        const size_t side = from < g->n[i] - to ? from : g->n[i] - to;
        n[i] = g->n[i] - 2 * side;
    }
    if (fabs(g->offset[0]) + fabs(g->offset[1]) > 1e-6 * g->voxel[0])
        return complain(QB_BAD_ARGUMENT, "--size object: this volume lies aside of the axis; give --size NX,NY");
    if (cone)
        snprintf(text, sizeof text, "%zu,%zu,%zu", n[0], n[1], n[2]);
    else
        snprintf(text, sizeof text, "%zu,%zu", n[0], n[1]);
    /* The loop above ends with z: from and to are the slices */
    if (!cone) snprintf(range, sizeof range, "%zu:%zu", from, to);
    qb_status status = qb_param_set(size, sizes, text);
    if (status == QB_OK && *range) status = qb_param_set(slices, rows, range);
    snprintf(said, sizeof said, "--size object: %s of %zu,%zu,%zu voxels%s%s", text, g->n[0], g->n[1], g->n[2],
             *range ? ", --slices " : "", range);
    if (status == QB_OK) c->env.log(c->env.user, QB_LOG_INFO, said);
    return status;
}

/* Sets --size and --offset to the box, in whole voxels of the verb's own grid. */
static qb_status give_box(cli *c, bool cone, const grid *g, const size_t step[3], const size_t first[3],
                          const size_t end[3]) {
    void *target;
    const qb_param *size = find_row(c, "size", 0, &target), *offset = find_row(c, "offset", 0, &target);
    size_t n[3];
    double middle[3];
    char text[160];
    for (int i = 0; i < 3; i++) {
        size_t from, to;
        widen(g, i, step[i], first[i], end[i], &from, &to);
        n[i] = to - from;
        middle[i] = g->offset[i] + g->voxel[i] * (0.5 * (double)(from + to - 1) - 0.5 * (double)(g->n[i] - 1));
    }
    if (!offset) return give_middle(c, cone, g, step, first, end);
    snprintf(text, sizeof text, "%zu,%zu,%zu", n[0], n[1], n[2]);
    qb_status status = qb_param_set(size, target, text);
    if (status != QB_OK) return status;
    char said[220];
    snprintf(said, sizeof said, "--size object: %s of %zu,%zu,%zu voxels", text, g->n[0], g->n[1], g->n[2]);
    snprintf(text, sizeof text, "%.12g,%.12g,%.12g", middle[0], middle[1], middle[2]);
    status = qb_param_set(offset, target, text);
    snprintf(said + strlen(said), sizeof said - strlen(said), ", --offset %s", text);
    c->env.log(c->env.user, QB_LOG_INFO, said);
    return status;
}

qb_status crop_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry) {
    cJSON *plan = cJSON_Parse(qb_job_plan(job));
    if (!plan) return complain(QB_NO_MEMORY, "no memory for the plan");
    const grid g = grid_of(plan);
    cJSON_Delete(plan);
    size_t step[3], first[3] = {0}, end[3] = {0};
    for (int i = 0; i < 3; i++) step[i] = (g.n[i] + COARSE - 1) / COARSE;
    seen s = {0};
    qb_status status = make_coarse(c, scan, geometry, &g, step, &s);
    if (status == QB_OK && !find_box(&s, first, end))
        status = complain(QB_BAD_INPUT, "--size object: no object stands out of the volume; give --size NX,NY,NZ");
    free(s.values);
    return status == QB_OK ? give_box(c, geometry != NULL, &g, step, first, end) : status;
}

qb_status crop_run(cli *c) {
    const qb_env env = c->env;
    void *target;
    if (!c->crop) return QB_OK;
    const qb_param *slices = find_row(c, "slices", 0, &target);
    if (c->options.run.save_config)
        return complain(QB_BAD_ARGUMENT, "--save-config keeps numbers: give --size NX,NY,NZ in place of object");
    if (qb_ranks_count(c->env.ranks) > 1)
        return complain(QB_UNSUPPORTED, "--size object is of one process: give --size NX,NY,NZ");
    if (slices && *(char **)((char *)target + slices->offset))
        return complain(QB_BAD_ARGUMENT, "--size object chooses the slices: leave --slices out");
    c->cropping = true;
    const qb_status status = c->verb->run(c);
    c->cropping = false;
    c->env = env;
    return status;
}
