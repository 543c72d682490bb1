/* SPDX-License-Identifier: MIT */
/* For the newer benchmark's static registry: put this file into its src/, add to algorithmRegistry.c
 *
 *   extern int quickbeamPrepare(RabbitCtGlobalData *);
 *   extern int quickbeamBackprojection(RabbitCtGlobalData *);
 *   extern int quickbeamFinish(RabbitCtGlobalData *);
 *   { "quickbeam", quickbeamPrepare, quickbeamBackprojection, quickbeamFinish },
 *
 * and link with librabbitct_quickbeam (compiler flag -I to engine.h). With -a the number of views is known, and views
 * wait until a group is complete, whatever -b says; without -a, every call ends with all its views added. */
#include "engine.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct projection {
    int id; /* from 1 */
    double *matrix;
    float *image;
} projection;

/* RabbitCtGlobalData of the interface: order and types of its members. */
typedef struct global_data {
    uint32_t problemSize, imageWidth, imageHeight;
    float voxelSize, O_Index;
    float *volumeData;
    uint32_t numberOfProjections;
    double *globalGeometry;
    projection *projectionBuffer;
    char *clipFilename;
} global_data;

int quickbeamPrepare(global_data *data);
int quickbeamBackprojection(global_data *data);
int quickbeamFinish(global_data *data);

static qb_rabbitct *engine;
static uint32_t views_in_all; /* 0 = not known */

/* All functions return 1 for success, as in the benchmark's own modules. */
int quickbeamPrepare(global_data *data) {
    qb_rabbitct_destroy(engine);
    views_in_all = data->numberOfProjections;
    engine = qb_rabbitct_create(data->problemSize, data->imageWidth, data->imageHeight, data->voxelSize, data->O_Index);
    return engine != NULL;
}

int quickbeamBackprojection(global_data *data) {
    if (!engine) return 0;
    const projection *last = data->projectionBuffer + data->numberOfProjections - 1;
    bool good = data->numberOfProjections > 0;
    for (uint32_t i = 0; i < data->numberOfProjections && good;) {
        qb_rabbitct_view views[64];
        size_t n = 0;
        for (; n < 64 && i < data->numberOfProjections; n++, i++)
            views[n] = (qb_rabbitct_view){data->projectionBuffer[i].matrix, data->projectionBuffer[i].image};
        good = qb_rabbitct_add(engine, views, n, data->volumeData);
    }
    if (views_in_all == 0 || last->id < 1 || (uint32_t)last->id >= views_in_all)
        good = qb_rabbitct_flush(engine, data->volumeData) && good;
    return good;
}

int quickbeamFinish(global_data *data) {
    if (!engine) return 0;
    const bool good = qb_rabbitct_flush(engine, data->volumeData);
    qb_rabbitct_destroy(engine);
    engine = NULL;
    return good;
}
