/* SPDX-License-Identifier: MIT */
/* qb simulate rabbitct: a RabbitCT data set. */
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "simulate/rabbitct_synthetic.h"
#include "simulate/simulate.h"

static bool is_folder(const char *path) {
    struct stat at;
    const size_t n = strlen(path);
    return (n > 0 && path[n - 1] == '/') || (stat(path, &at) == 0 && S_ISDIR(at.st_mode));
}

static bool ends_in_rct(const char *path) {
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".rct") == 0;
}

/* The benchmark defines the scan: options that would change it are refused, not ignored. */
static qb_status refuse_others(const qb_simulate_options *o) {
    const struct {
        const char *flag;
        bool given;
    } others[] = {{"geometry", o->geometry && strcmp(o->geometry, "parallel") != 0},
                  {"detector-offset", o->offset},
                  {"detector-radius", o->radius > 0},
                  {"tilt", o->tilt.count},
                  {"jitter", o->jitter.count},
                  {"angles", o->angles},
                  {"pixel-size", o->pixel_size > 0 || o->pixels.count},
                  {"sod", o->sod > 0},
                  {"sdd", o->sdd > 0},
                  {"photons", o->photons > 0},
                  {"rings", o->rings > 0},
                  {"faults", o->faults != NULL},
                  {"center-offset", o->center_offset != 0},
                  {"seed", o->seed != 0},
                  {"truth", o->truth},
                  {"geometry-out", o->geometry_out}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return qb__fail(QB_BAD_ARGUMENT, "--%s: a RabbitCT data set's scan is fixed", others[i].flag);
    return QB_OK;
}

static size_t number(const qb_numbers *numbers, int index, size_t otherwise) {
    return index < numbers->count ? (size_t)numbers->value[index] : otherwise;
}

qb_status qb__simulate_rabbitct(const qb_simulate_options *options, const qb_env *env) {
    const qb_numbers *detector = &options->detector, *size = &options->size;
    const char *path = options->output;
    qb__pool *pool;
    qb_status status = refuse_others(options);
    if (status == QB_OK && env && env->max_ram)
        status =
            qb__fail(QB_BAD_ARGUMENT, "--max-ram: the memory of rabbitct is that of its largest reference, --size");
    if (status != QB_OK) return status;
    if (!path || !(is_folder(path) || ends_in_rct(path)))
        return qb__fail(QB_BAD_ARGUMENT, "a RabbitCT data set is a file: -o NAME.rct, or a folder: -o NAME/");
    if (detector->count > 2 || size->count > 1)
        return qb__fail(QB_BAD_ARGUMENT, "--detector takes COLUMNS,ROWS, --size the largest reference's side");
    const qb__rabbitct_synthetic what = {.columns = number(detector, 0, 1248),
                                         .rows = number(detector, 1, number(detector, 0, 960)),
                                         .views = options->views > 0 ? (size_t)options->views : 496,
                                         .reference = number(size, 0, 256),
                                         .folder = is_folder(path)};
    status = qb__pool_create(env ? env->threads : 0, &pool);
    if (status == QB_OK) status = qb__rabbitct_synthesize(path, &what, pool, env);
    qb__pool_destroy(pool);
    return status;
}
