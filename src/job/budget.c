/* SPDX-License-Identifier: MIT */
#include "job/job.h"

#include <stdio.h>

#include "base/memory.h"
#include "io/digest.h"

size_t qb__held_bytes(const qb__held *held) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 768 << 10 };
    const qb_scan_info *scan = held->scan;
    size_t bytes = qb__resident_bytes() + LIBRARY_BYTES + (size_t)(held->threads + 2) * THREAD_BYTES;
    if (scan) bytes += qb__digest_bytes(scan->views, scan->rows);
    if (scan) bytes += scan->cache_bytes;
    return bytes + held->prepared + held->observers + held->more;
}

qb_status qb__too_small(const qb__cut_space *space, const qb__cut *least, const qb_env *env) {
    char views[64] = "", slices[64] = "one slice";
    const size_t count = qb__cut_bundled(space, least->views);
    if (space->views_stream) snprintf(views, sizeof views, "%zu view%s and ", count, count == 1 ? "" : "s");
    if (least->slices != 1) snprintf(slices, sizeof slices, "%zu slices", least->slices);
    return qb__fail_ram(env, (double)space->cap.host, (double)least->need.host, "even %s%s at a time need%s", views,
                        slices, *views || least->slices != 1 ? "" : "s");
}
