/* SPDX-License-Identifier: MIT */
#include "bench/machine/bench_link.h"

#include <math.h>

#include "base/status.h"

qb_status qb__bench_link_open(const qb_env *env, size_t bytes, qb__bench_link *link) {
    const qb__comm *comm = qb__comm_of(env);
    *link = (qb__bench_link){.bytes = bytes};
    QB__OR_RETURN(qb__device_set_open(env, &link->set));
    if (link->set.count == 0) return QB_OK;
    const int here = comm ? comm->here : 1;
    link->devices = (here + link->set.sharing - 1) / link->set.sharing;
    QB__OR_RETURN(qb__queue_create(link->set.device[0], &link->queue));
    QB__OR_RETURN(qb__memory_create(link->set.device[0], bytes, &link->there));
    QB__OR_RETURN(qb__host_create(link->set.device[0], bytes, &link->here));
    QB__OR_RETURN(qb__memory_fill(link->queue, link->there, 0, 0, bytes));
    return qb__queue_finish(link->queue);
}

qb_status qb__bench_link_join(qb__bench_link *link, qb__comm *comm) {
    const qb__comm_grid *ranks;
    if (!comm || link->set.count == 0) return QB_OK;
    QB__OR_RETURN(qb__comm_arrange(comm, QB_OK, 1, comm->count, &ranks));
    const qb_status status = qb__agree(comm, qb__device_sum_open(link->set.device[0], ranks, link->bytes, &link->sum));
    return status == QB_OK ? qb__device_sum_begin(link->sum, INFINITY) : status;
}

void qb__bench_link_close(qb__bench_link *link) {
    qb__device_sum_close(link->sum);
    qb__queue_destroy(link->queue);
    qb__memory_destroy(link->there);
    if (link->here) qb__host_destroy(link->set.device[0], link->here);
    qb__device_set_close(&link->set);
    *link = (qb__bench_link){0};
}

qb_status qb__bench_link_up(const qb__bench_link *link, int turns) {
    qb_status status = QB_OK;
    for (int i = 0; i < turns && status == QB_OK; i++)
        status = qb__memory_upload(link->queue, link->there, 0, link->here, link->bytes);
    return qb__queue_finish_after(link->queue, status);
}

qb_status qb__bench_link_down(const qb__bench_link *link, int turns) {
    qb_status status = QB_OK;
    for (int i = 0; i < turns && status == QB_OK; i++)
        status = qb__memory_download(link->queue, link->there, 0, link->here, link->bytes);
    return qb__queue_finish_after(link->queue, status);
}

qb_status qb__bench_link_room(const qb__bench_link *link, double *bytes) {
    size_t room = 0;
    const qb_status status = qb__device_free_bytes(link->set.device[0], &room);
    *bytes = 0.9 * (double)(room + link->bytes) / link->set.sharing;
    return status;
}
