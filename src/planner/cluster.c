/* SPDX-License-Identifier: MIT */
#include "planner/cluster.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

enum { BATCH = 32, MOST_RANKS = 2048, FILE_MOST = 1 << 20 };
static const double value = sizeof(float);

/* ---- what was measured ---- */

static const struct rate {
    const char *name;
    size_t offset;
    bool may_lack;
} rates[] = {{"read_bytes_per_second", offsetof(qb__cluster, read), false},
             {"write_bytes_per_second", offsetof(qb__cluster, write), false},
             {"filter_values_per_second", offsetof(qb__cluster, filter), false},
             {"allgather_bytes_per_second", offsetof(qb__cluster, allgather), false},
             {"backproject_updates_per_second", offsetof(qb__cluster, backproject), false},
             {"reduce_bytes_per_second", offsetof(qb__cluster, reduce), false},
             {"rank_memory_bytes", offsetof(qb__cluster, memory), false},
             {"link_bytes_per_second", offsetof(qb__cluster, link), true},
             {"links_per_node", offsetof(qb__cluster, links), true},
             {"transpose_bytes_per_second", offsetof(qb__cluster, transpose), true}};
enum { RATES = sizeof rates / sizeof *rates };

static qb_status take_rates(const char *path, const cJSON *from, qb__cluster *cluster) {
    const cJSON *given;
    if (!cJSON_IsObject(from))
        return qb__fail(QB_BAD_INPUT, "%s has no \"rates\": it is no result of qb bench mpi --json", path);
    cJSON_ArrayForEach(given, from) {
        size_t i = 0;
        while (i < RATES && strcmp(given->string, rates[i].name) != 0) i++;
        if (i == RATES) return qb__fail(QB_BAD_INPUT, "%s: there is no rate %s", path, given->string);
        if (!cJSON_IsNumber(given) || !(given->valuedouble > 0 && given->valuedouble < 1e30))
            return qb__fail(QB_BAD_INPUT, "%s: %s must be a number greater than 0", path, given->string);
        *(double *)((char *)cluster + rates[i].offset) = given->valuedouble;
    }
    for (size_t i = 0; i < RATES; i++)
        if (!rates[i].may_lack && !cJSON_GetObjectItem(from, rates[i].name))
            return qb__fail(QB_BAD_INPUT, "%s lacks the rate %s", path, rates[i].name);
    if ((cluster->link > 0) != (cluster->links > 0))
        return qb__fail(QB_BAD_INPUT, "%s: link_bytes_per_second and links_per_node belong together", path);
    return QB_OK;
}

qb_status qb__cluster_read(const char *path, qb__cluster *cluster) {
    char *text = NULL;
    *cluster = (qb__cluster){0};
    QB__OR_RETURN(qb__read_text(path, FILE_MOST, &text));
    cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
    const qb_status status = root ? take_rates(path, cJSON_GetObjectItem(root, "rates"), cluster)
                                  : qb__fail(QB_BAD_INPUT, "%s is no JSON object, as qb bench mpi --json prints", path);
    cJSON_Delete(root);
    qb__free(text);
    return status;
}

/* ---- the model ---- */

static double volume(const qb__cluster_problem *p) { return p->nx * p->ny * p->nz; }

/* Seconds for an amount at a rate; 0 if the rate is 0 (the step does not exist). */
static double at(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

qb__cluster_terms qb__cluster_predict(const qb__cluster *c, const qb__cluster_problem *p,
                                      const qb__cluster_grid *grid) {
    const double R = (double)grid->rows, C = (double)grid->columns, here = (double)grid->ranks_per_node;
    const double scan = p->columns * p->rows * p->views, part = volume(p) / R;
    /* bandwidth of one rank while all ranks of its node use the links */
    const double all_links = c->link * c->links / here;
    qb__cluster_terms t = {.read = at(value * scan, c->read),
                           .filter = at(scan, ceil(R * C / here) * c->filter),
                           .allgather = R > 1 ? at(value * scan / C, c->allgather) : 0,
                           .to_device = at(value * scan / C, all_links),
                           .transpose = at(value * part, c->transpose),
                           .from_device = at(value * part, all_links),
                           .reduce = C > 1 ? at(value * part, c->reduce) : 0,
                           .write = at(value * volume(p), c->write)};
    t.backproject = t.to_device + at(part * p->views / C, c->backproject);
    t.compute = fmax(fmax(t.read, t.filter), fmax(t.allgather, t.backproject));
    t.post = t.transpose + t.from_device + t.reduce + t.write;
    t.runtime = t.compute + t.post;
    return t;
}

bool qb__cluster_room(const qb__cluster *c, const qb__cluster_problem *p, size_t rows) {
    return value * (volume(p) / (double)rows + p->columns * p->rows * BATCH) <= c->memory;
}

size_t qb__cluster_rows(const qb__cluster *c, const qb__cluster_problem *p, size_t ranks) {
    for (size_t rows = 1; rows <= ranks; rows++)
        if (ranks % rows == 0 && (double)(ranks / rows) <= p->views && qb__cluster_room(c, p, rows)) return rows;
    return 0;
}

/* ---- in words ---- */

cJSON *qb__cluster_json(const qb__cluster *cluster, const qb__cluster_problem *problem, const qb__cluster_grid *grid) {
    const qb__cluster_terms t = qb__cluster_predict(cluster, problem, grid);
    const struct {
        const char *name;
        double seconds;
    } terms[] = {{"read", t.read},
                 {"filter", t.filter},
                 {"allgather", t.allgather},
                 {"to_device", t.to_device},
                 {"back-project", t.backproject},
                 {"compute", t.compute},
                 {"transpose", t.transpose},
                 {"from_device", t.from_device},
                 {"reduce", t.reduce},
                 {"write", t.write},
                 {"post", t.post}};
    const int shape[2] = {(int)grid->rows, (int)grid->columns};
    cJSON *json = cJSON_CreateObject(), *list;
    cJSON_AddNumberToObject(json, "ranks", (double)(grid->rows * grid->columns));
    cJSON_AddItemToObject(json, "grid", cJSON_CreateIntArray(shape, 2));
    list = cJSON_AddObjectToObject(json, "terms");
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        cJSON_AddNumberToObject(list, terms[i].name, terms[i].seconds);
    cJSON_AddNumberToObject(json, "runtime_seconds", t.runtime);
    cJSON_AddNumberToObject(json, "gups", volume(problem) * problem->views / t.runtime / 0x1p30);
    return json;
}

static double number(const cJSON *from, const char *name) { return cJSON_GetObjectItem(from, name)->valuedouble; }

/* GUPS per rank, relative to the first entry. */
static void add_step(cJSON *list, cJSON *step) {
    const cJSON *first = cJSON_GetArrayItem(list, 0) ? cJSON_GetArrayItem(list, 0) : step;
    const double one = number(first, "gups") / number(first, "ranks");
    cJSON_AddNumberToObject(step, "efficiency", number(step, "gups") / number(step, "ranks") / one);
    cJSON_AddItemToArray(list, step);
}

cJSON *qb__cluster_scale(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t rows,
                         size_t ranks_per_node, size_t ranks, bool weak) {
    const size_t most = ranks > MOST_RANKS ? ranks : MOST_RANKS;
    cJSON *list = cJSON_CreateArray();
    for (size_t n = ranks_per_node; n <= most; n *= 2) {
        qb__cluster_problem now = *problem;
        if (weak) now.views = problem->views / (double)ranks * (double)n;
        const size_t r = rows ? rows : qb__cluster_rows(cluster, &now, n);
        if (r == 0 || n % r != 0) continue;
        const qb__cluster_grid grid = {r, n / r, ranks_per_node};
        if (now.views < (double)grid.columns) break;
        cJSON *step = qb__cluster_json(cluster, &now, &grid);
        cJSON_AddNumberToObject(step, "views", now.views);
        add_step(list, step);
    }
    return list;
}
