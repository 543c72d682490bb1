/* SPDX-License-Identifier: MIT */
/* Sums over columns of ranks on mock devices: the bits are those of sums in the order of columns, by NCCL and by the
 * hosts. Also the messages and the fallback where NCCL cannot be used. */
#include "child.h"
#include "unit/ranks_here.h"

#include "geometry/partition.h"
#include "recon/device_arrays.h"

enum { VALUES = 700, SLICES = 23 };

typedef struct trial {
    int columns, devices;
    size_t slices, pieces_of; /* the slabs are cut as if they had so many bytes */
    int slabs;
    double bytes;      /* bytes that the ranks announce to send */
    const char *fails; /* value of MOCK_NCCL_FAIL */
    char by[MOST][256];
    qb_status status;
    char words[1024];
    bool differs;
} trial;

/* Numbers whose sum depends on the order of addition, in its last bits. */
static float value_of(int column, size_t at) {
    return (float)((double)(at * 2654435761u % 1000003u) / 7.0) * (column % 2 ? -1.1f : 1.3f) + (float)column;
}

static bool right(const float *front, int columns, int column, size_t slices) {
    size_t first, count;
    qb__cut_rank(slices, 1, columns, column, &first, &count);
    for (size_t i = 0; i < count * VALUES; i++) {
        float sum = value_of(0, first * VALUES + i);
        for (int k = 1; k < columns; k++) sum += value_of(k, first * VALUES + i);
        if (memcmp(&sum, &front[i], sizeof sum) != 0) return false;
    }
    return true;
}

static qb_status sum_slabs(trial *t, const qb__comm_grid *ranks, qb__device *device, qb__device_sum *sum,
                           qb__memory *memory) {
    float *host = NULL;
    qb__queue *queue = NULL;
    const size_t floats = t->slices * VALUES;
    qb_status status;
    QB__TRY(qb__alloc(floats, sizeof *host, &host));
    QB__TRY(qb__queue_create(device, &queue));
    for (int slab = 0; slab < t->slabs; slab++) {
        for (size_t i = 0; i < floats; i++) host[i] = value_of(ranks->column, i);
        QB__TRY(qb__memory_upload(queue, memory, 0, host, floats * sizeof *host));
        QB__TRY(qb__queue_finish(queue));
        QB__TRY(qb__device_sum_run(sum, memory, t->slices, VALUES));
        QB__TRY(qb__memory_download(queue, memory, 0, host, floats * sizeof *host));
        QB__TRY(qb__queue_finish(queue));
        if (!right(host, t->columns, ranks->column, t->slices)) t->differs = true;
    }
out:
    qb__queue_destroy(queue);
    qb__free(host);
    return status;
}

static qb_status work_of(qb__comm *comm, void *context) {
    trial *t = context;
    const qb__comm_grid *ranks;
    qb__device *device = NULL;
    qb__device_sum *sum = NULL;
    qb__memory *memory = NULL;
    char spec[24];
    qb_status status;
    snprintf(spec, sizeof spec, "cuda:%d", comm->rank % t->devices);
    QB__TRY(qb__comm_arrange(comm, QB_OK, 1, t->columns, &ranks));
    status = qb__device_open(spec, &device);
    if (status == QB_OK) status = qb__device_sum_open(device, ranks, t->pieces_of, &sum);
    if (status == QB_OK) status = qb__memory_create(device, qb__larger(t->slices, 1) * VALUES * sizeof(float), &memory);
    QB__TRY(qb__agree(comm, status));
    QB__TRY(qb__device_sum_begin(sum, t->bytes));
    status = sum_slabs(t, ranks, device, sum, memory);
    status = qb__device_sum_barrier(sum, status);
    qb__device_sum_report(sum, t->by[comm->rank]);
out:
    qb__device_sum_close(sum);
    qb__memory_destroy(memory);
    qb__device_close(device);
    return status;
}

/* ---- scenarios ---- */

static void run(trial *t) {
    if (t->fails) setenv("MOCK_NCCL_FAIL", t->fails, 1);
    t->status = together(t->columns, work_of, t, t->words);
    unsetenv("MOCK_NCCL_FAIL");
}

static trial trials[] = {
    {.columns = 2, .devices = 2, .slices = SLICES, .pieces_of = SLICES * VALUES * 4, .slabs = 3},
    /* each run is sent in several pieces */
    {.columns = 3, .devices = 3, .slices = SLICES, .pieces_of = 9000, .slabs = 2},
    {.columns = 5, .devices = 5, .slices = 3, .pieces_of = 4000, .slabs = 1}, /* two ranks have no slices */
    {.columns = 2, .devices = 2, .slices = 0, .pieces_of = 1, .slabs = 1}};

static const char *sums_by(mock_cuda_state *mock, const char *by) {
    mock->devices = 5;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        trial t = trials[i];
        run(&t);
        if (t.status != QB_OK || t.differs) fprintf(stderr, "trial %zu: %s\n", i, t.words);
        EXPECT(t.status == QB_OK && !t.differs);
        for (int k = 0; k < t.columns; k++)
            if (!strstr(t.by[k], by)) return fprintf(stderr, "says: %s\n", t.by[k]), "it is another way";
    }
    EXPECT(mock->allocations == 0 && mock->pinned + mock->registered == 0 && mock->streams == 0 && mock->contexts == 0);
    return NULL;
}

static const char *by_nccl(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", mock_nccl_path(), 1);
    const char *wrong = sums_by(mock, "NCCL 2.27.3");
    size_t looked_at = 0; /* nothing else was downloaded */
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        looked_at += (size_t)(trials[i].slabs * trials[i].columns) * trials[i].slices * VALUES * sizeof(float);
    EXPECT(wrong || mock->down_bytes == looked_at);
    return wrong;
}

static const char *by_hosts(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", "", 1);
    return sums_by(mock, "the hosts' memory: left out by QB_LIBNCCL");
}

/* If the user does not name NCCL, it is used only where it saves more time than its start takes. */
static const char *too_little(mock_cuda_state *mock) {
    mock->devices = 5;
    unsetenv("QB_LIBNCCL");
    trial t = trials[1];
    run(&t);
    EXPECT(t.status == QB_OK && !t.differs);
    for (int k = 0; k < t.columns; k++) EXPECT_SAYS(t.by[k], "the hosts' memory: NCCL takes longer to begin");
    return NULL;
}

static const char *an_old_library(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", mock_nccl_path(), 1);
    setenv("MOCK_NCCL_VERSION", "21300", 1);
    return sums_by(mock, "of version 21300, 2.14 is needed");
}

static const char *another_library(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", mock_cuda_path(), 1);
    return sums_by(mock, "it lacks ncclGetVersion");
}

/* NCCL refuses two ranks on one device, so it is not asked. */
static const char *a_shared_device(mock_cuda_state *mock) {
    trial t = trials[1];
    setenv("QB_LIBNCCL", mock_nccl_path(), 1);
    mock->devices = 2;
    t.devices = 2;
    run(&t);
    EXPECT(t.status == QB_OK && !t.differs);
    for (int k = 0; k < t.columns; k++) EXPECT_SAYS(t.by[k], "two have the same one on here");
    return NULL;
}

/* If one rank cannot connect, no rank uses NCCL, and the hosts make the sums. */
static const char *one_does_not_join(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", mock_nccl_path(), 1);
    mock->devices = 5;
    trial t = trials[1];
    t.fails = "init:1";
    run(&t);
    EXPECT(t.status == QB_OK && !t.differs);
    for (int k = 0; k < t.columns; k++) EXPECT_SAYS(t.by[k], "NCCL cannot connect the devices");
    return NULL;
}

static const char *one_cannot_send(mock_cuda_state *mock) {
    setenv("QB_LIBNCCL", mock_nccl_path(), 1);
    mock->devices = 5;
    trial t = trials[1];
    t.fails = "send:1";
    run(&t);
    EXPECT(t.status == QB_NO_DEVICE);
    EXPECT_SAYS(t.words,
                "rank 1 of 3, on here: NCCL cannot send what is to be summed: unhandled system error (played)");
    EXPECT(mock->allocations == 0 && mock->streams == 0);
    return NULL;
}

SCENARIO(by_nccl)
SCENARIO(by_hosts)
SCENARIO(too_little)
SCENARIO(an_old_library)
SCENARIO(another_library)
SCENARIO(a_shared_device)
SCENARIO(one_does_not_join)
SCENARIO(one_cannot_send)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIO_ROW(by_nccl) SCENARIO_ROW(by_hosts) SCENARIO_ROW(too_little)
                                           SCENARIO_ROW(an_old_library) SCENARIO_ROW(another_library)
                                               SCENARIO_ROW(a_shared_device) SCENARIO_ROW(one_does_not_join)
                                                   SCENARIO_ROW(one_cannot_send)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
