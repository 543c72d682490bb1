/* SPDX-License-Identifier: MIT */
#include "prep/phase_device.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "planner/device_costs.h"
#include "prep/phase_device_parts.h"

static const double WORTH = 1; /* seconds that filtering on the CPU must take longer than starting a device */

/* ---- create and destroy ---- */

static bool is_worth(const qb_env *env, double seconds) {
    if (qb__device_is_named(env)) return qb__device_is_asked(env);
    return (!env || !env->max_ram) && seconds > WORTH + qb__device_least_start(env);
}

qb_status qb__phase_device_create(const qb_scan *scan, const qb__scan_rows *rows, const qb__paganin *how,
                                  double seconds, bool near, const qb_env *env, char *why, size_t why_size,
                                  qb__phase_device **out) {
    const char *cannot = NULL;
    qb__phase_device *p = NULL;
    *out = NULL;
    *why = 0;
    if (!is_worth(env, seconds)) return QB_OK;
    QB__OR_RETURN(qb__alloc(1, sizeof *p, &p));
    *p = (qb__phase_device){.scan = scan,
                            .rows = rows,
                            .named = qb__device_is_asked(env),
                            .how = *how,
                            .near_wanted = near,
                            .fill = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER},
                            .lock = PTHREAD_MUTEX_INITIALIZER};
    qb_status status = qb__phase_open_device(p, env, &cannot);
    if (status == QB_OK && p->device && !cannot) {
        *out = p;
        return QB_OK;
    }
    if (cannot && qb__device_is_asked(env))
        qb__print(why, why_size, ", not on %s: %s", qb__device_info_of(p->device)->spec, cannot);
    qb__phase_device_destroy(p);
    return status;
}

void qb__phase_device_destroy(qb__phase_device *p) {
    if (!p) return;
    qb__phase_device_halt(p);
    qb__phase_close_there(p);
    qb__device_set_close(&p->set);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->fill.lock);
    pthread_cond_destroy(&p->fill.more);
    qb__free(p);
}

const char *qb__phase_device_spec(const qb__phase_device *p) { return qb__device_info_of(p->device)->spec; }
const char *qb__phase_device_name(const qb__phase_device *p) {
    return p->given_up ? NULL : qb__device_info_of(p->device)->name;
}
size_t qb__phase_device_rows(const qb__phase_device *p) { return qb__smaller(p->shape.rows, 2 * p->shape.step); }

/* ---- serving a request ---- */

qb_status qb__phase_device_read(qb__phase_device *p, const qb__phase_request *request, bool *done) {
    qb_status status = qb__phase_fill_all(p, request);
    if (status != QB_OK) return status;
    pthread_mutex_lock(&p->lock);
    *done = p->open;
    if (p->open) status = qb__phase_serve_kept(p, request, done);
    if (p->open && status == QB_OK && !*done) {
        *done = true;
        status = qb__phase_pump(p, request);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}
