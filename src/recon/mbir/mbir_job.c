/* SPDX-License-Identifier: MIT */
#include "job/job.h"
#include "quickbeam/version.h"
#include "recon/mbir/mbir.h"

cJSON *qb__mbir_job_of(const qb__mbir *m, const char *engine, const char *kernel) {
    static const char *const free_to_change[] = {"resume", "checkpoint", "matrix-cache"};
    qb_mbir_options used = *m->options;
    if (!m->images.proximal) used.neighbours = *qb__mbir_neighbours(m); /* another version may have another default */
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", qb_version());
    cJSON_AddStringToObject(json, "engine", engine);
    cJSON_AddStringToObject(json, "kernel", kernel);
    cJSON *options = qb__describe_options(json, qb_mbir_params, &used);
    for (size_t i = 0; i < sizeof free_to_change / sizeof *free_to_change; i++)
        cJSON_DeleteItemFromObject(options, free_to_change[i]);
    cJSON_AddNumberToObject(json, "pixel", m->pixel);
    cJSON_AddNumberToObject(json, m->images.proximal ? "sigma_p" : "sigma_x",
                            m->images.proximal ? m->measured.sigmas.p : m->measured.sigmas.x);
    cJSON_AddNumberToObject(json, "sigma_y", m->measured.sigmas.y);
    return json;
}
