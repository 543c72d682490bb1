/* SPDX-License-Identifier: MIT */
/* The benchmark's original run-time interface (version 2): five functions that its runner looks up in a shared object.
 * Each call brings one view. A group of views is added in the call that completes it, the last group in the call of the
 * last view, so that no work is left for Finish, which is not timed. */
#include "module.h"

#include "engine.h"

#include <stdlib.h>
#include <string.h>

static qb_rabbitct *engine;
static float *volume; /* allocated here if the runner gave none */

bool RCTLoadAlgorithm(qb_rabbitct_v2 *data) {
    qb_rabbitct_destroy(engine);
    engine = qb_rabbitct_create(data->L, data->S_x, data->S_y, data->R_L, data->O_L);
    if (!engine) return false;
    if (data->f_L) return true;
    free(volume);
    const size_t n = data->L, bytes = n * n * n * sizeof *volume;
    volume = malloc(bytes);
    if (volume) memset(volume, 0, bytes); /* pages are allocated now, not in a timed call */
    data->f_L = volume;
    return volume != NULL;
}

bool RCTAlgorithmBackprojection(qb_rabbitct_v2 *data) {
    if (!engine || !data->f_L) return false;
    const qb_rabbitct_view view = {data->A_n, data->I_n};
    bool good = qb_rabbitct_add(engine, &view, 1, data->f_L);
    if (good && data->adv_projNumber + 1 >= data->adv_N) good = qb_rabbitct_flush(engine, data->f_L);
    return good;
}

/* Views are left only if the runner stopped early. */
bool RCTFinishAlgorithm(qb_rabbitct_v2 *data) {
    if (!engine || !data->f_L) return false;
    return qb_rabbitct_flush(engine, data->f_L);
}

bool RCTUnloadAlgorithm(qb_rabbitct_v2 *data) {
    if (volume && data->f_L == volume) data->f_L = NULL;
    free(volume);
    volume = NULL;
    qb_rabbitct_destroy(engine);
    engine = NULL;
    return true;
}
