/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/share.h"
#include "device/cuda_api.h"

/* Page-locked host memory. The driver takes 0.37 s per GB to allocate and 0.08 s to release, in one thread of the
 * kernel. With huge pages that several threads touch first, the driver only has to lock the pages, which takes most of
 * that time away. */

enum { HUGE_PAGE = 2 << 20, FROM = 4 << 20, PIECE = 16 << 20, THREADS = 12 };

typedef struct pages {
    volatile char *first;
    size_t bytes, page;
} pages;

static void touch_piece(void *context, size_t task, int worker) {
    const pages *p = context;
    size_t from = task * PIECE, end = p->bytes - from < PIECE ? p->bytes : from + PIECE;
    (void)worker;
    for (size_t i = from; i < end; i += p->page) p->first[i] = 0;
}

/* If threads are missing, pages that were not touched are allocated by the driver when it locks them. */
static void touch(const qb__pinned *pinned) {
    pages p = {pinned->host, pinned->bytes, (size_t)sysconf(_SC_PAGESIZE)};
    size_t pieces = (p.bytes + PIECE - 1) / PIECE;
    qb__pool *pool;
    const size_t cpus = qb__share_threads(), threads = cpus < THREADS ? cpus : THREADS;
    if (qb__pool_create((int)(pieces < threads ? pieces : threads), &pool) != QB_OK) return;
    qb__pool_for(pool, pieces, touch_piece, &p);
    qb__pool_destroy(pool);
}

/* If more is mapped than there is memory, the process is killed when the pages are touched. */
static qb_status map(qb__device *device, size_t bytes, qb__pinned *pinned) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = qb__available_bytes();
    void *all = MAP_FAILED;
    if (bytes <= room && bytes <= SIZE_MAX - page - HUGE_PAGE) {
        bytes = (bytes + page - 1) / page * page;
        all = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (all == MAP_FAILED)
        return qb__fail(QB_NO_MEMORY, "%s: no room for %.1f MiB of page-locked memory, %.1f MiB are free",
                        device->info.spec, (double)bytes / 1048576, (double)room / 1048576);
    size_t before = -(uintptr_t)all % HUGE_PAGE;
    pinned->host = (char *)all + before;
    pinned->bytes = bytes;
    if (before) munmap(all, before);
    munmap((char *)pinned->host + bytes, HUGE_PAGE - before);
    madvise(pinned->host, bytes, MADV_HUGEPAGE);
    /* After a fork, the first write would copy the page, and the parent's page would differ from the device's. */
    madvise(pinned->host, bytes, MADV_DONTFORK);
    return QB_OK;
}

static void unmap(qb__pinned *pinned) {
    if (pinned->host) munmap(pinned->host, pinned->bytes);
    qb__free(pinned);
}

static qb_status drivers_own(qb__device *device, size_t bytes, void **host) {
    QB__CUDA_CALL(device, "taking page-locked memory", qb__cuda.host_alloc(host, bytes, QB__CU_HOST_PORTABLE));
    return QB_OK;
}

static qb_status lock_pages(qb__device *device, const qb__pinned *pinned, qb__cu_result *result) {
    QB__OR_RETURN(qb__cuda_enter(device));
    *result = qb__cuda.host_register(pinned->host, pinned->bytes, QB__CU_HOST_PORTABLE);
    qb__cuda_leave(device);
    return QB_OK;
}

qb_status qb__cuda_host_create(qb__device *device, size_t bytes, void **host) {
    if (bytes < FROM || !qb__cuda.host_register || !qb__cuda.host_unregister) return drivers_own(device, bytes, host);
    qb__cu_result result = 0;
    qb__pinned *pinned;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *pinned, &pinned));
    QB__TRY(map(device, bytes, pinned));
    touch(pinned);
    QB__TRY(lock_pages(device, pinned, &result));
    if (!result) {
        *host = pinned->host;
        qb__pinned_keep(device, pinned);
        return QB_OK;
    }
out:
    if (pinned) unmap(pinned);
    if (status != QB_OK) return status;
    /* If memory of the process cannot be locked, memory of the driver may. */
    if (result != QB__CU_OUT_OF_MEMORY) return drivers_own(device, bytes, host);
    return qb__cuda_status(device, result, "page-locking memory");
}

/* Pages of a lost device are returned to the system too. */
void qb__cuda_host_destroy(qb__device *device, void *host) {
    qb__pinned *pinned = qb__pinned_take(device, host);
    if (qb__cuda_enter(device) == QB_OK) {
        if (pinned)
            qb__cuda.host_unregister(host);
        else
            qb__cuda.host_free(host);
        qb__cuda_leave(device);
    }
    if (pinned) unmap(pinned);
}
