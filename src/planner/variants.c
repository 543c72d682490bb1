/* SPDX-License-Identifier: MIT */
#include "planner/variants.h"

#include <string.h>

static const qb__operation_row *const operations[QB__OPERATIONS] = {
    [QB__BP_PARALLEL] = &qb__operation_bp_parallel,
    [QB__BP_CONE] = &qb__operation_bp_cone,
    [QB__PROJECT_JOSEPH] = &qb__operation_project_joseph,
    [QB__ICD] = &qb__operation_icd,
};

const qb__operation_row *qb__operation_of(qb__operation operation) { return operations[operation]; }

size_t qb__columns_of(qb__operation operation, const void *problem) {
    return *(const size_t *)(const void *)((const char *)problem + operations[operation]->columns_at);
}

const qb__variant *qb__variant_at(qb__operation operation, bool devices, size_t i) {
    const qb__operation_row *o = operations[operation];
    return devices ? o->devices(i) : o->cpu(i);
}

const qb__variant *qb__variant_named(const char *id) {
    const qb__variant *row;
    for (int n = 0; n < 2 * QB__OPERATIONS; n++)
        for (size_t i = 0; (row = qb__variant_at(n / 2, n % 2, i)) != NULL; i++)
            if (strcmp(row->id, id) == 0) return row;
    return NULL;
}
