/* SPDX-License-Identifier: MIT */
/* Forecast of the time of a job: search for the axis, preparation, and the pipeline, which is simulated with the
 * forecasts of its stages. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "planner/rates.h"
#include "prep/prepare.h"
#include "recon/reconstruction_parts.h"

/* Seconds of all chunks of a stage, in one thread if it computes; the last chunk may be smaller. */
static double stage_seconds(const qb__stage *stage, size_t chunks) {
    const double last =
        stage->last_bytes && stage->slot_bytes ? (double)stage->last_bytes / (double)stage->slot_bytes : 1;
    return stage->forecast * qb__progress_rate_worth(stage->first, stage->later, (double)chunks - 1 + last);
}

double qb__play_stages(const qb__stage *stages, int count, size_t chunks, int threads, double *each, bool *known) {
    qb__progress_rate rate[QB__STAGES_MAX];
    bool all_known = true;
    for (int i = 0; i < count; i++) {
        const qb__stage *s = &stages[i];
        if (s->scatter) chunks *= s->scatter;
        const double all = stage_seconds(s, chunks), wall = s->blocking ? all : all / threads;
        rate[i] = (qb__progress_rate){.blocking = s->blocking,
                                      .chunks = chunks,
                                      .gather = s->gather,
                                      .slots = s->slots,
                                      .seconds = all / qb__progress_rate_worth(s->first, s->later, (double)chunks),
                                      .first = s->first,
                                      .later = s->later,
                                      .in_place = s->in_place,
                                      .scatter = s->scatter};
        if (i > 0 && i + 1 < count) all_known = all_known && s->forecast > 0;
        if (each) each[i] = s->forecast > 0 ? wall : s->all_seconds;
        if (s->gather) chunks /= s->gather;
    }
    if (known) *known = all_known;
    return qb__progress_rate_left(rate, count, threads);
}

double qb__reconstruction_forecast(qb__reconstruction *r, cJSON *plan) {
    const qb__decision *d = &r->decision;
    cJSON *json = cJSON_AddObjectToObject(plan, "forecast");
    const double axis = d->begin_seconds;
    /* the ranks that share the rows of a pass */
    const size_t sharing = r->share.ranks ? (size_t)qb__comm_count(r->comm) : 1;
    const double prepare = r->task.info ? qb__prepare_seconds(r->task.info, &r->prep,
                                                              qb__ceil_div(d->row1 - d->row0, sharing), r->task.threads)
                                        : 0;
    qb__stage stages[QB__STAGES_MAX];
    double each[QB__STAGES_MAX];
    size_t chunks;
    bool known;
    const int count = qb__engines_stages(r, stages, &chunks);
    const double played = qb__play_stages(stages, count, chunks, r->task.threads, each, &known);
    const double streaming = known ? played : fmax(played, qb__chosen(r)->seconds);
    const double ready = prepare + qb__draft_seconds(r, streaming);
    cJSON_AddNumberToObject(json, "axis", axis);
    cJSON_AddNumberToObject(json, "preparation", ready);
    cJSON_AddNumberToObject(json, "streaming", streaming);
    cJSON *list = cJSON_AddObjectToObject(json, "stages");
    for (int i = 0; i < count; i++)
        if (each[i] > 0) cJSON_AddNumberToObject(list, stages[i].name, each[i]);
    cJSON_AddNumberToObject(json, "write_bytes_per_second", r->task.write);
    cJSON_AddStringToObject(json, "write_rate", r->task.write_from);
    cJSON_AddStringToObject(json, "rates", qb__rates_known() ? "measured" : "listed");
    return axis + ready + streaming;
}
