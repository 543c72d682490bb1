/* SPDX-License-Identifier: MIT */
/* A geometry for all stored views, from which the scan has left out some. */
#include "base/memory.h"
#include "io/scan/scan.h"

struct qb__chosen_views {
    struct qb__chosen_views *next;
    qb_geometry geometry; /* the caller's geometry with only the scan's views */
};

const qb_geometry *qb__scan_views_of(qb_scan *scan, const qb_geometry *given) {
    const qb_scan_info *info = &scan->info;
    struct qb__chosen_views *chosen;
    if (!given || !given->view || given->views == info->views || given->views != info->stored) return given;
    if (qb__alloc(1, sizeof *chosen, &chosen) != QB_OK) return given;
    chosen->geometry = *given;
    if (qb__alloc(info->views, sizeof *chosen->geometry.view, &chosen->geometry.view) != QB_OK) {
        qb__free(chosen);
        return given;
    }
    for (size_t i = 0; i < info->views; i++) chosen->geometry.view[i] = given->view[qb__scan_stored(scan, i)];
    chosen->geometry.views = info->views;
    chosen->next = scan->chosen;
    scan->chosen = chosen;
    return &chosen->geometry;
}

void qb__scan_forget_views(qb_scan *scan) {
    while (scan->chosen) {
        struct qb__chosen_views *chosen = scan->chosen;
        scan->chosen = chosen->next;
        qb__free(chosen->geometry.view);
        qb__free(chosen);
    }
}
